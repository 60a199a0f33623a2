/* Reverse over reverse, on an array. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double p = 1;
    for (int i = 0; i < n; i++)
        p *= x[i];
    return p * p;
}
static double first(const double *x, int n)
{
    double d[4] = {0};
    __enzyme_autodiff_void((void *)f, enzyme_dup, x, d, enzyme_const, n);
    return d[0];
}
int main(void)
{
    double x[3], d[3] = {0};
    sample(x, 3);
    __enzyme_autodiff_void((void *)first, enzyme_dup, x, d, enzyme_const, 3);
    for (int i = 0; i < 3; i++)
        expect_within("row", i, d[i], slope_by(first, 3, i), 1e-6);
    return failures();
}
