/* A recursion with three active floats: its sweeps return three adjoints, in several lanes and again differentiated. */
#include "selfcheck.h"
struct three { double a, b, c; };
struct six { double a[2], b[2], c[2]; };
extern struct three __enzyme_autodiff_three(void *, ...);
extern struct six __enzyme_autodiff_six(void *, ...);
__attribute__((noinline)) static double tree(double a, double b, double c, int n)
{
    if (n == 0)
        return a * b * c;
    return tree(a, b * 0.5, c, n - 1) + tree(b, c, a + 1, n - 1);
}
static double f(double a, double b, double c, int n) { return tree(a, b, c, n); }
static double of_gradient(double a, double b, double c, int n)
{
    struct three g = __enzyme_autodiff_three((void *)f, enzyme_out, a, enzyme_out, b, enzyme_out, c, enzyme_const, n);
    return g.a + 2 * g.b + 3 * g.c;
}
/* n = 1: abc/2 + bc(a + 1) = 1.5abc + bc */
int main(void)
{
    double a = 2, b = 3, c = 5;
    struct three g = __enzyme_autodiff_three((void *)f, enzyme_out, a, enzyme_out, b, enzyme_out, c, enzyme_const, 1);
    expect("da", 0, g.a, 1.5 * b * c);
    expect("db", 0, g.b, 1.5 * a * c + c);
    expect("dc", 0, g.c, 1.5 * a * b + b);
    struct six two = __enzyme_autodiff_six((void *)f, enzyme_width, 2, enzyme_out, a, enzyme_out, b, enzyme_out, c,
                                           enzyme_const, 1);
    for (int lane = 0; lane < 2; lane++) {
        expect("lane a", lane, two.a[lane], g.a);
        expect("lane b", lane, two.b[lane], g.b);
        expect("lane c", lane, two.c[lane], g.c);
    }
    struct three h = __enzyme_autodiff_three((void *)of_gradient, a, b, c, 1);
    expect("again a", 0, h.a, 2 * 1.5 * c + 3 * 1.5 * b);
    expect("again b", 0, h.b, 1.5 * c + 3 * (1.5 * a + 1));
    expect("again c", 0, h.c, 1.5 * b + 2 * (1.5 * a + 1));
    double t = __enzyme_fwddiff((void *)of_gradient, a, 1.0, b, 10.0, c, 100.0, enzyme_const, 1);
    expect("tangent", 0, t, h.a + 10 * h.b + 100 * h.c);
    return failures();
}
