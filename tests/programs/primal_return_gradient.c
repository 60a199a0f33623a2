/* The value of a function of an array, with its gradient. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * x[i] * (i + 1);
    return sum;
}
int main(void)
{
    double x[3], d[3] = {0};
    sample(x, 3);
    double v = __enzyme_autodiff((void *)f, enzyme_primal_return, enzyme_dup, x, d, enzyme_const, 3);
    expect("value", 0, v, f(x, 3));
    for (int i = 0; i < 3; i++)
        expect("gradient", i, d[i], 2 * x[i] * (i + 1));
    return failures();
}
