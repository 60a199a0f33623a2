/* A derivative of a derivative: forward over reverse. */
#include "selfcheck.h"
static double f(double x) { return x * x * x * sin(x); }
static double df(double x) { return __enzyme_autodiff((void *)f, x); }
static double ddf(double x) { return __enzyme_fwddiff((void *)df, x, 1.0); }
int main(void)
{
    expect_within("second", 0, ddf(0.8), slope(df, 0.8), 1e-6);
    expect("by hand", 0, ddf(0.8), 6 * 0.8 * sin(0.8) + 6 * 0.64 * cos(0.8) - 0.512 * sin(0.8));
    return failures();
}
