/* Several scalar arguments at once: the adjoints come back in a struct. */
#include "selfcheck.h"
struct three { double a, b, c; };
struct three __enzyme_autodiff_three(void *, ...);
static double f(double a, double b, double c) { return a * b + sin(b * c); }
int main(void)
{
    double a = 0.4, b = 1.3, c = -0.7;
    struct three d = __enzyme_autodiff_three((void *)f, a, b, c);
    expect("a", 0, d.a, b);
    expect("b", 1, d.b, a + c * cos(b * c));
    expect("c", 2, d.c, b * cos(b * c));
    d = __enzyme_autodiff_three((void *)f, enzyme_out, a, enzyme_const, b, enzyme_out, c);
    expect("a beside a constant", 0, d.a, b);
    expect("c beside a constant", 2, d.b, b * cos(b * c));
    return failures();
}
