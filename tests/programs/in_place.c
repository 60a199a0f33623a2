/* A buffer is read and overwritten in place; its shadow turns from seed to adjoint. */
#include "selfcheck.h"
static void step(double *x, int n)
{
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < n; i++)
            x[i] = x[i] * x[(i + 1) % n] + 0.1 * x[i];
}
static double f(const double *x, int n)
{
    double y[4], sum = 0;
    memcpy(y, x, n * sizeof *y);
    step(y, n);
    for (int i = 0; i < n; i++)
        sum += (i + 1) * y[i];
    return sum;
}
int main(void)
{
    double x[4], s[4] = {1, 2, 3, 4};
    sample(x, 4);
    __enzyme_autodiff_void((void *)step, enzyme_dup, x, s, enzyme_const, 4);
    for (int i = 0; i < 4; i++)
        expect("step", i, s[i], slope_by(f, 4, i));
    return failures();
}
