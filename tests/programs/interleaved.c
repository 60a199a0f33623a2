/* enzyme_interleave: all arguments first, all shadows after. */
#include "selfcheck.h"
static double f(const double *x, const double *y) { return x[0] * y[0] * y[0]; }
int main(void)
{
    double x = 3, y = 4, dx = 0, dy = 0;
    __enzyme_autodiff_void((void *)f, enzyme_dup, &x, enzyme_dup, &y, enzyme_interleave, &dx, &dy);
    expect("x", 0, dx, 16);
    expect("y", 0, dy, 24);
    return failures();
}
