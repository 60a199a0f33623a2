/* __enzyme_ignore_derivatives: a value without its derivative. */
#include "selfcheck.h"
double __enzyme_ignore_derivatives(double);
static double f(double x) { return __enzyme_ignore_derivatives(x) * x; }
int main(void)
{
    expect("reverse", 0, __enzyme_autodiff((void *)f, 3.0), 3);
    expect("forward", 0, __enzyme_fwddiff((void *)f, 3.0, 1.0), 3);
    return failures();
}
