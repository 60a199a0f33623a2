/* The output is added to, not overwritten: its seed stays. */
#include "selfcheck.h"
static void f(const double *x, double *y)
{
    for (int i = 0; i < 3; i++)
        y[i] += x[i] * x[(i + 1) % 3];
}
int main(void)
{
    CHECK_MAP(f, 3, 3);
    double x[3] = {1, 2, 3}, d[3] = {0}, y[3] = {0}, s[3] = {1, 10, 100};
    __enzyme_autodiff_void((void *)f, enzyme_dup, x, d, enzyme_dup, y, s);
    expect("the seed", 0, s[0], 1);
    expect("the seed", 2, s[2], 100);
    expect("by x", 1, d[1], 1 * 1 + 10 * 3);
    return failures();
}
