// Lambdas that capture by value and by reference.
#include "selfcheck.h"
template <class F> static double twice(F f, double x) { return f(f(x)); }
static double f(const double *x, int n)
{
    double a = x[0], sum = 0;
    auto scale = [a](double v) { return a * v * v; };
    auto add = [&sum](double v) { sum += v; return v; };
    for (int i = 0; i < n; i++)
        add(twice(scale, x[i]));
    return sum;
}
int main() { CHECK_GRADIENT(f, 4); return failures(); }
