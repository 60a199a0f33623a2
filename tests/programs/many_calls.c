/* A derivative is asked for in a loop, a thousand times: no memory is left over, nothing drifts. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double *y = (double *)malloc(n * sizeof *y), sum = 0;
    for (int i = 0; i < n; i++)
        y[i] = x[i] * x[i];
    for (int i = 0; i < n; i++)
        sum += y[i] * y[(i + 1) % n];
    free(y);
    return sum;
}
int main(void)
{
    double x[3], d[3] = {0}, once[3] = {0};
    sample(x, 3);
    __enzyme_autodiff_void((void *)f, enzyme_dup, x, once, enzyme_const, 3);
    for (int k = 0; k < 1000; k++)
        __enzyme_autodiff_void((void *)f, enzyme_dup, x, d, enzyme_const, 3);
    for (int i = 0; i < 3; i++)
        expect("a thousand times", i, d[i] / 1000, once[i]);
    CHECK_GRADIENT(f, 3);
    return failures();
}
