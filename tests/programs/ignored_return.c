/* enzyme_const_return: only what is written counts. */
#include "selfcheck.h"
static double f(const double *x, double *y)
{
    *y = x[0] * x[0];
    return x[0] * 1000;
}
int main(void)
{
    double x = 3, d = 0, y, s = 1;
    __enzyme_autodiff_void((void *)f, enzyme_const_return, enzyme_dup, &x, &d, enzyme_dup, &y, &s);
    expect("by memory alone", 0, d, 6);
    d = 0, s = 1;
    __enzyme_autodiff_void((void *)f, enzyme_noret, enzyme_dup, &x, &d, enzyme_dup, &y, &s);
    expect("again", 1, d, 6);
    return failures();
}
