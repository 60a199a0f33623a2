// std::complex.
#include "selfcheck.h"
#include <complex>
static double f(const double *x, int n)
{
    std::complex<double> z(x[0], x[1]), w(1, 0);
    for (int i = 0; i < n; i++)
        w = w * z + std::complex<double>(x[i], -x[i]);
    return std::norm(w) + std::real(w / z);
}
int main() { CHECK_GRADIENT(f, 4); return failures(); }
