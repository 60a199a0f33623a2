/* enzyme_strong_zero: no NaN from an infinite factor that nothing asks for. */
#include "selfcheck.h"
static double f(double x, double y) { return sqrt(x) * 0 + y * y; }
struct two { double a, b; };
struct two __enzyme_autodiff_two(void *, ...);
int main(void)
{
    struct two d = __enzyme_autodiff_two((void *)f, enzyme_strong_zero, enzyme_out, 0.0, enzyme_out, 3.0);
    expect("at the kink", 0, d.a, 0);
    expect("y", 1, d.b, 6);
    return failures();
}
