/* Two seeds in one reverse sweep: a Jacobian's rows at once. */
#include "selfcheck.h"
static void f(const double *x, double *y)
{
    y[0] = x[0] * x[1] * x[2];
    y[1] = sin(x[0]) + x[2] / x[1];
}
int main(void)
{
    double x[3] = {0.5, 2, 3}, d0[3] = {0}, d1[3] = {0}, y[2], s0[2] = {1, 0}, s1[2] = {0, 1};
    __enzyme_autodiff_void((void *)f, enzyme_width, 2, enzyme_dup, x, d0, d1, enzyme_dup, y, s0, s1);
    expect("row 0", 0, d0[0], 6);
    expect("row 0", 2, d0[2], 1);
    expect("row 1", 0, d1[0], cos(0.5));
    expect("row 1", 1, d1[1], -0.75);
    return failures();
}
