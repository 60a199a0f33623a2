/* Functions of libm in a table, in derivatives of derivatives: each derivative brings functions that call them. */
#include "selfcheck.h"
static double (*const table[2])(double) = {sin, exp};
static double f(double x)
{
    double s = x;
    for (int i = 0; i < 4; i++)
        s = table[(int)(x + i) & 1](s * 0.5);
    return s;
}
static double reverse(double x) { return __enzyme_autodiff((void *)f, x); }
static double forward(double x) { return __enzyme_fwddiff((void *)f, x, 1.0); }
static double second(double x) { return __enzyme_autodiff((void *)forward, x); }
int main(void)
{
    CHECK_SLOPE(reverse, 0.5);
    CHECK_SLOPE(forward, 0.5);
    CHECK_SLOPE(second, 0.5);
    return failures();
}
