// std::function with captures.
#include "selfcheck.h"
#include <functional>
static double f(const double *x, int n)
{
    double a = x[0];
    std::function<double(double)> g = [a](double v) { return a * v + v * v; };
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += g(x[i]);
    return sum;
}
int main() { CHECK_GRADIENT(f, 4); return failures(); }
