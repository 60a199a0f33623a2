/* Structs and complex numbers by value: in registers, in memory, returned. */
#include "check.h"
#include <complex.h>

static double in_registers(two t, double x) { return t.a * t.b * t.b * x; }
static float pair(twof t) { return t.a * t.b * t.b; }
static double in_memory(three t) { t.a *= 2; return t.a * t.b * t.c; }
static two returned(double x) { return (two){x * x, 3 * x}; }
static three returned_in_memory(double x) { return (three){x * x, 3 * x, x * x * x}; }
static twof returned_pair(float x) { return (twof){x * x, 3 * x}; }
static double squared(double _Complex z) { return creal(z * z) + 2 * cimag(z * z); }
static double _Complex multiplied(double x, double y) { return (x + y * I) * (x + y * I); }

typedef struct { double v[3]; } array;
static double pointed(const three *t, double x) { return t->a * t->b * t->c * x; }

int main(void) {
    two t = {3, 4};
    three g = __enzyme_autodiff_three((void *)in_registers, t, 2.0);
    CHECK(g.a, 32);
    CHECK(g.b, 48);
    CHECK(g.c, 48);
    g = __enzyme_autodiff_three((void *)in_registers, enzyme_out, t, enzyme_out, 2.0);
    CHECK(g.b, 48);
    CHECK(__enzyme_autodiff((void *)in_registers, enzyme_const, t, enzyme_out, 2.0), 48);
    two dt = {1, 10};
    CHECK(__enzyme_fwddiff((void *)in_registers, enzyme_dup, t, dt, enzyme_const, 2.0), 32 + 480);
    CHECK(__enzyme_fwddiff((void *)in_registers, t, dt, 2.0, 1.0), 32 + 480 + 48);

    g = __enzyme_autodiff_three((void *)in_registers, enzyme_out, enzyme_byref, 16, &t, enzyme_out, 2.0);
    CHECK(g.b, 48);
    CHECK(__enzyme_fwddiff((void *)in_registers, enzyme_dup, enzyme_byref, 16, &t, &dt, enzyme_const, 2.0), 32 + 480);

    twof p = {3, 4}, dp = __enzyme_autodiff_twof((void *)pair, p);
    CHECK(dp.a, 16);
    CHECK(dp.b, 24);

    three m = {3, 4, 5}, dm = {1, 0, 0};
    CHECK(__enzyme_fwddiff((void *)in_memory, m, dm), 40);
    CHECK(m.a, 3);

    CHECK(__enzyme_autodiff((void *)returned, 3.0), 6 + 3);
    two tangents = __enzyme_fwddiff_two((void *)returned, 3.0, 2.0);
    CHECK(tangents.a, 12);
    CHECK(tangents.b, 6);
    struct { two value, tangent; } __enzyme_fwddiff_both(void *, ...), all;
    all = __enzyme_fwddiff_both((void *)returned, enzyme_primal_return, 3.0, 2.0);
    CHECK(all.value.b, 9);
    CHECK(all.tangent.a, 12);
    three far = __enzyme_fwddiff_three((void *)returned_in_memory, 3.0, 1.0);
    CHECK(far.a, 6);
    CHECK(far.b, 3);
    CHECK(far.c, 27);
    CHECK(__enzyme_autodiff((void *)returned_in_memory, 3.0), 36);
    twof __enzyme_fwddiff_twof(void *, ...);
    twof small = __enzyme_fwddiff_twof((void *)returned_pair, 3.0f, 1.0f);
    CHECK(small.a, 6);
    CHECK(small.b, 3);

    two dz = __enzyme_autodiff_two((void *)squared, 3.0 + 4.0 * I);
    CHECK(dz.a, 2 * 3 + 4 * 4);
    CHECK(dz.b, -2 * 4 + 4 * 3);
    two dw = __enzyme_autodiff_two((void *)multiplied, 3.0, 4.0);
    CHECK(dw.a, 2 * 3 + 2 * 4);
    CHECK(dw.b, -2 * 4 + 2 * 3);

    three s = {3, 4, 5}, ds = {0};
    CHECK(__enzyme_autodiff((void *)pointed, &s, &ds, 2.0), 60);
    CHECK(ds.a, 40);
    return failures;
}
