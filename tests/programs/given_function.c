/* Functions that differentiate what they are given. */
#include "selfcheck.h"
static inline double derivative(double (*f)(double), double x) { return __enzyme_autodiff((void *)f, x); }
static double newton(double (*f)(double), double x)
{
    for (int i = 0; i < 20; i++)
        x -= f(x) / derivative(f, x);
    return x;
}
double second(double (*f)(double), double x, double h) /* others may call it, too */
{
    return (derivative(f, x + h) - derivative(f, x - h)) / (2 * h);
}
static double parabola(double x) { return x * x - 2; }
static double cubic(double x) { return x * x * x - 5; }
int main(void)
{
    expect("parabola", 0, newton(parabola, 1), sqrt(2));
    expect("cubic", 0, newton(cubic, 1), cbrt(5));
    expect("second", 0, second(cubic, 2, 1e-4), 12);
    return failures();
}
