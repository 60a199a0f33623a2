/* Several tangents or adjoints at once. */
#include "check.h"

static double f(double x, const double *p) { return sin(x * p[0]) * p[1]; }
static two pair(double x) { return (two){x * x, 3 * x}; }
static three far(double x) { return (three){x * x, 3 * x, x}; }
typedef struct { double value, d[2]; } with_primal;
with_primal __enzyme_fwddiff_with(void *, ...);
typedef struct { double d[4]; } four;
four __enzyme_fwddiff_four(void *, ...);
typedef struct { double d[6]; } six;
six __enzyme_fwddiff_six(void *, ...);

int main(void) {
    double p[2] = {0.5, 3}, d0[2] = {1, 0}, d1[2] = {0, 1}, all[4] = {1, 0, 0, 1};
    double s = 3 * cos(1.0);
    two t = __enzyme_fwddiff_two((void *)f, enzyme_width, 2, enzyme_const, 2.0, enzyme_dup, p, d0, d1);
    CHECK(t.a, 2 * s);
    CHECK(t.b, sin(1.0));
    t = __enzyme_fwddiff_two((void *)f, enzyme_width, 2, enzyme_dup, 2.0, 1.0, 10.0, enzyme_dupv, 16L, p, all);
    CHECK(t.a, 0.5 * s + 2 * s);
    CHECK(t.b, 5 * s + sin(1.0));
    with_primal w = __enzyme_fwddiff_with((void *)f, enzyme_primal_return, enzyme_width, 2, enzyme_dup, 2.0, 1.0, 2.0,
                                          enzyme_const, p);
    CHECK(w.value, f(2, p));
    CHECK(w.d[0], 0.5 * s);
    CHECK(w.d[1], s);
    four r = __enzyme_fwddiff_four((void *)pair, enzyme_width, 2, enzyme_dup, 3.0, 1.0, 2.0);
    CHECK(r.d[0], 6);
    CHECK(r.d[1], 3);
    CHECK(r.d[2], 12);
    CHECK(r.d[3], 6);
    six q = __enzyme_fwddiff_six((void *)far, enzyme_width, 2, enzyme_dup, 3.0, 1.0, 2.0);
    CHECK(q.d[1], 3);
    CHECK(q.d[3], 12);
    CHECK(q.d[5], 2);
    d0[0] = d1[1] = 0;
    two g = __enzyme_autodiff_two((void *)f, enzyme_width, 2, enzyme_out, 2.0, enzyme_dup, p, d0, d1);
    CHECK(g.a, 0.5 * s);
    CHECK(g.b, 0.5 * s);
    CHECK(d0[0], 2 * s);
    CHECK(d1[1], sin(1.0));
    d0[0] = d1[0] = 1;
    t = __enzyme_fwddiff_two((void *)f, enzyme_width, 2, enzyme_interleave, 2.0, p, 1.0, 2.0, d0, d1);
    CHECK(t.a, 0.5 * s + 2 * s + sin(1.0) * d0[1]);
    CHECK(t.b, s + 2 * s + sin(1.0) * d1[1]);

    typedef struct { void *tape; double value; } kept;
    kept __enzyme_augmentfwd_value(void *, ...);
    two __enzyme_reverse_two(void *, ...);
    double e0[2] = {0}, e1[2] = {0};
    kept k = __enzyme_augmentfwd_value((void *)f, enzyme_width, 2, enzyme_out, 2.0, enzyme_dup, p, e0, e1);
    two b = __enzyme_reverse_two((void *)f, enzyme_width, 2, enzyme_out, 2.0, enzyme_dup, p, e0, e1, 1.0, 10.0, k.tape);
    CHECK(b.a, 0.5 * s);
    CHECK(b.b, 5 * s);
    CHECK(e1[0], 20 * s);
    return failures;
}
