/* At kinks the derivative follows one convention, in both modes. */
#include "selfcheck.h"
static double absolute(double x) { return fabs(x); }
static double positive(double x) { return x > 0 ? x : 0; }
static double root(double x) { return x > 0 ? sqrt(x) : 0; }
int main(void)
{
    expect("absolute, left", 0, __enzyme_autodiff((void *)absolute, -2.0), -1);
    expect("absolute, right", 0, __enzyme_autodiff((void *)absolute, 2.0), 1);
    expect("both modes agree at 0", 0, __enzyme_autodiff((void *)absolute, 0.0), __enzyme_fwddiff((void *)absolute, 0.0, 1.0));
    expect("positive at 0", 0, __enzyme_autodiff((void *)positive, 0.0), 0);
    expect("root at 0", 0, __enzyme_autodiff((void *)root, 0.0), 0);
    return failures();
}
