/* The call of the paper: a null pointer stands for an output that is not wanted. */
#include "selfcheck.h"
extern int diffe_dup, diffe_dupnoneed, diffe_const;
static void norm(const double *x, int n, double *out)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * x[i];
    *out = sqrt(sum);
}
int main(void)
{
    double x[3] = {1, 2, 2}, d[3] = {0}, seed = 1;
    __enzyme_autodiff_void((void *)norm, diffe_dup, x, d, 3, diffe_dupnoneed, (double *)0, &seed);
    for (int i = 0; i < 3; i++)
        expect("norm", i, d[i], x[i] / 3);
    return failures();
}
