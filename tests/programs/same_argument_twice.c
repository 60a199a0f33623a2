/* One array under two names: its adjoint has both parts. */
#include "selfcheck.h"
static double dot(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[n - 1 - i];
    return sum;
}
int main(void)
{
    double a[3] = {1, 2, 3}, d[3] = {0};
    __enzyme_autodiff_void((void *)dot, enzyme_dup, a, d, enzyme_dup, a, d, enzyme_const, 3);
    for (int i = 0; i < 3; i++)
        expect("dot", i, d[i], 2 * a[2 - i]);
    return failures();
}
