/* One declaration for all calls: its result is not used where there is nothing to return. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double product = 1;
    for (int i = 0; i < n; i++)
        product *= x[i];
    return product;
}
int main(void)
{
    double x[3] = {2, 3, 4}, d[3] = {0};
    __enzyme_autodiff((void *)f, enzyme_dup, x, d, enzyme_const, 3);
    expect("f", 1, d[1], 8);
    return failures();
}
