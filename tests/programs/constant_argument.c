/* enzyme_const: nothing is written beside what is constant. */
#include "selfcheck.h"
static double dot(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}
int main(void)
{
    double a[3] = {1, 2, 3}, b[3] = {4, 5, 6}, da[3] = {0};
    __enzyme_autodiff_void((void *)dot, enzyme_dup, a, da, enzyme_const, b, enzyme_const, 3);
    for (int i = 0; i < 3; i++)
        expect("dot", i, da[i], b[i]);
    return failures();
}
