/* The seed of an output that is overwritten ends as zero; adjoints of inputs are added to what was there. */
#include "selfcheck.h"
static void f(const double *x, double *y) { *y = x[0] * x[1]; }
int main(void)
{
    double x[2] = {2, 3}, d[2] = {100, 200}, y = 0, s = 5;
    __enzyme_autodiff_void((void *)f, enzyme_dup, x, d, enzyme_dup, &y, &s);
    expect("value", 0, y, 6);
    expect("seed", 0, s, 0);
    expect("x0", 0, d[0], 115);
    expect("x1", 1, d[1], 210);
    return failures();
}
