// Code that may throw, and does not here.
#include "selfcheck.h"
#include <stdexcept>
#include <vector>
static double root(double x)
{
    if (x < 0)
        throw std::domain_error("negative");
    return std::sqrt(x);
}
static double f(const double *x, int n)
{
    std::vector<double> y;
    for (int i = 0; i < n; i++)
        y.push_back(root(x[i]));
    double sum = 0;
    for (double v : y)
        sum += v * v * v;
    return sum;
}
int main() { CHECK_GRADIENT(f, 4); return failures(); }
