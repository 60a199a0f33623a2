// Calls under a handler that return a value and three tangents, and are differentiated again: more floats than registers.
#include "selfcheck.h"
struct three { double lanes[3]; };
extern "C" three __enzyme_fwddiff_three(void *, ...);
extern "C" double __enzyme_fwddiff_again(void *, ...);
__attribute__((noinline)) static double root(double a, int n)
{
    if (a < 0)
        throw n;
    return n ? root(a - 1, n - 1) * a : sqrt(a);
}
__attribute__((noinline)) static double caught(double a, double b, int n)
{
    double s = b;
    for (int i = 0; i < n; i++) {
        try {
            s += root(a * b, i) * s;
        } catch (int k) {
            s *= 1 + k * a;
        }
    }
    return s;
}
static double f(double a, double b, int n) { return caught(a, b, n); }
static double of_tangents(double a, double b, int n)
{
    three t = __enzyme_fwddiff_three((void *)f, enzyme_width, 3, enzyme_dup, a, 1.0, 0.0, 2.0, enzyme_dup, b, 0.0, 1.0, a,
                                     enzyme_const, n);
    return t.lanes[0] * t.lanes[1] + t.lanes[2];
}
int main()
{
    const double a = 1.3, b = 0.9, h = 1e-3;
    double near[2][4], again[4];
    for (int i = 0; i < 4; i++) {
        near[0][i] = f(a + stencil_steps[i] * h, b, 4);
        near[1][i] = f(a, b + stencil_steps[i] * h, 4);
        again[i] = of_tangents(a + stencil_steps[i] * h, b, 4);
    }
    double da = stencil(near[0], h), db = stencil(near[1], h);
    three t = __enzyme_fwddiff_three((void *)f, enzyme_width, 3, enzyme_dup, a, 1.0, 0.0, 2.0, enzyme_dup, b, 0.0, 1.0, a,
                                     enzyme_const, 4);
    expect("da", 0, t.lanes[0], da);
    expect("db", 0, t.lanes[1], db);
    expect("both", 0, t.lanes[2], 2 * da + a * db);
    double second = __enzyme_fwddiff_again((void *)of_tangents, enzyme_dup, a, 1.0, enzyme_const, b, enzyme_const, 4);
    expect_within("again", 0, second, stencil(again, h), 1e-6);
    return failures();
}
