// Clean-up runs when a derivative is left by a throw: counters go back, memory of primal and shadow is freed.
#include "selfcheck.h"
#include <memory>
#include <stdexcept>
#include <vector>
static int depth;
struct Deeper {
    Deeper() { depth++; }
    ~Deeper() { depth--; }
};
__attribute__((noinline)) static double root(double x)
{
    if (x > 1.2)
        throw std::domain_error("large");
    return std::sqrt(x);
}
__attribute__((noinline)) static double sum_of_roots(const double *x, int n)
{
    Deeper deeper;
    std::vector<double> y;
    for (int i = 0; i < n; i++)
        y.push_back(root(x[i]));
    double sum = 0;
    for (double v : y)
        sum += v * v * v;
    return sum;
}
static double f(const double *x, int n)
{
    Deeper deeper;
    double before = 0;
    {
        std::vector<double> squares(x, x + n);
        for (double &v : squares)
            v *= v;
        for (double v : squares)
            before += v * v;
    }
    std::unique_ptr<double> kept(new double(before));
    double *raw = new double[3]{*x, before, 1};
    double s = raw[0] * raw[1];
    delete[] raw;
    return s * *kept * sum_of_roots(x, n);
}
int main()
{
    CHECK_GRADIENT(f, 3);
    double x[8], d[8] = {0};
    sample(x, 8);
    int caught = 0;
    for (int k = 0; k < 3; k++)
        try {
            __enzyme_autodiff((void *)f, enzyme_dup, x, d, 8);
        } catch (const std::domain_error &) {
            caught++;
        }
    expect("caught", 0, caught, 3);
    expect("depth", 0, depth, 0);
    CHECK_GRADIENT(f, 3);
    return failures();
}
