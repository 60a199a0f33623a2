/* Constant and active memory meet behind one pointer; a shadow that equals its primal means constant. */
#include "selfcheck.h"
static double f(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        const double *p = i % 2 ? a : b;
        sum += p[i] * p[i];
    }
    return sum;
}
int main(void)
{
    double a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8}, da[4] = {0};
    __enzyme_autodiff_void((void *)f, enzyme_runtime_activity, enzyme_dup, a, da, enzyme_dup, b, b, enzyme_const, 4);
    expect("a", 1, da[1], 4);
    expect("a", 0, da[0], 0);
    expect("b", 2, b[2], 7);
    return failures();
}
