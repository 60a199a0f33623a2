/* Shadows at a stride from one pointer. */
#include "selfcheck.h"
static void f(const double *x, double *y)
{
    y[0] = x[0] * x[1];
    y[1] = x[0] / x[1];
}
int main(void)
{
    double x[2] = {3, 2}, t[2][2] = {{1, 0}, {0, 1}}, y[2], s[2][2] = {{0}};
    __enzyme_fwddiff_void((void *)f, enzyme_width, 2, enzyme_dupv, sizeof t[0], x, t, enzyme_dupv, sizeof s[0], y, s);
    expect("by x0", 0, s[0][0], 2);
    expect("by x0", 1, s[0][1], 0.5);
    expect("by x1", 0, s[1][0], 3);
    expect("by x1", 1, s[1][1], -0.75);
    return failures();
}
