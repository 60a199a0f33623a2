/* The value together with its derivative. */
#include "selfcheck.h"
struct two { double value, slope; };
struct two __enzyme_autodiff_two(void *, ...);
struct two __enzyme_fwddiff_two(void *, ...);
static double f(double x) { return exp(x) * x; }
int main(void)
{
    struct two r = __enzyme_autodiff_two((void *)f, enzyme_primal_return, 0.8);
    expect("value", 0, r.value, f(0.8));
    expect("reverse", 0, r.slope, slope(f, 0.8));
    r = __enzyme_fwddiff_two((void *)f, enzyme_primal_return, enzyme_dup, 0.8, 1.0);
    expect("value", 1, r.value, f(0.8));
    expect("forward", 1, r.slope, slope(f, 0.8));
    return failures();
}
