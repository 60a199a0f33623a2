// std::valarray: expressions, slices, masks, shifts, and one of complex numbers.
#include "selfcheck.h"
#include <complex>
#include <valarray>
static double f(const double *x, int n)
{
    std::valarray<double> v(x, n), w = v * 2.0 + std::sin(v);
    std::valarray<double> even = w[std::slice(0, n / 2, 2)];
    w[std::slice(1, n / 2, 2)] *= even;
    std::valarray<double> large = w[w > 1.5];
    w = w.cshift(1);
    std::valarray<double> cubes = w.apply([](double t) { return t * t * t; });
    std::valarray<std::complex<double>> z(n);
    for (int i = 0; i < n; i++)
        z[i] = std::polar(x[i], w[i]);
    z *= std::complex<double>(0, 1);
    double products = (w * even.sum()).sum() + large.sum() * w.max() + cubes.min();
    return products + std::norm(z.sum()) + std::abs(std::exp(z[0]) / z[1]);
}
int main()
{
    CHECK_GRADIENT(f, 6);
    return failures();
}
