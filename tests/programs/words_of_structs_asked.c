/* Functions that take and return structs which the C ABI cuts into words, asked for derivatives themselves. */
#include "selfcheck.h"
double __enzyme_autodiff(void *, ...);
double __enzyme_fwddiff(void *, ...);
float __enzyme_autodiff_float(void *, ...);
double __enzyme_reverse(void *, ...);

/* Results: a float and an integer lie in one word. */
typedef struct { float f; int n; } pair;
typedef struct { double d; float f; int n; } mixed;
typedef struct { int n; float f; short m; } odd;
typedef struct { void *tape; mixed value; } kept;
typedef struct { void *tape; double a, b; } kept_two;
typedef struct { double a, b; } two;
pair __enzyme_fwddiff_pair(void *, ...);
mixed __enzyme_fwddiff_mixed(void *, ...);
kept __enzyme_augmentfwd(void *, ...);
kept_two __enzyme_augmentfwd_two(void *, ...);
static pair squared(float x) { pair r = {x * x, 3}; return r; }
static pair chosen(float x)
{
    if (x > 5) {
        pair r = {1, 1};
        return r;
    }
    return squared(x);
}
static mixed powers(double x) { mixed r = {x * x, (float)(x * x * x), 7}; return r; }
static odd in_the_middle(double x) { odd r = {1, (float)(x * x), 2}; return r; }
static two products(double x, two p) { two r = {x * p.a, p.a * p.b}; return r; }

static void results(void)
{
    expect("float of a word", 0, __enzyme_autodiff_float((void *)squared, enzyme_out, 3.0f), 6);
    expect("float of a word", 1, __enzyme_autodiff_float((void *)chosen, enzyme_out, 3.0f), 6);
    expect("float of a word", 2, __enzyme_autodiff((void *)powers, enzyme_out, 3.0), 6 + 27);
    expect("float of a word", 3, __enzyme_autodiff((void *)in_the_middle, enzyme_out, 3.0), 6);
    expect("tangent", 0, __enzyme_fwddiff_pair((void *)squared, enzyme_dup, 3.0f, 1.0f).f, 6);
    expect("tangent", 1, __enzyme_fwddiff_mixed((void *)powers, enzyme_dup, 3.0, 1.0).f, 27);
    kept t = __enzyme_augmentfwd((void *)powers, enzyme_out, 3.0);
    mixed seed = {2, 3, 0};
    expect("seeds", 0, __enzyme_reverse((void *)powers, enzyme_out, 3.0, seed, t.tape), 2 * 6 + 3 * 27);
    two p = {0.5, 4}, seeds = {2, 5};
    kept_two u = __enzyme_augmentfwd_two((void *)products, enzyme_out, 3.0, enzyme_const, p);
    expect("value", 0, u.b, 2);
    expect("seeds", 1, __enzyme_reverse((void *)products, enzyme_out, 3.0, enzyme_const, p, seeds, u.tape), 2 * 0.5);
}

/* Arguments: pointers and numbers, in registers, by address, or in memory where a call has no registers left. */
typedef struct { double *at; long count; } span;
typedef struct { double *p, *q; } vectors;
typedef struct { double d; long n; } counted;
static double squares(span s, double x)
{
    double r = 0;
    for (int i = 0; i < s.count; i++)
        r += s.at[i] * s.at[i] * x;
    return r;
}
static double product(vectors v, double x) { return v.p[0] * v.q[0] * x; }
static double many(double x, vectors v, span s, span t, counted c)
{
    return v.p[0] * v.q[0] * x * s.at[1] * t.at[0] * c.d * c.n;
}

static void arguments(void)
{
    double v[2] = {2, 3}, d[2] = {0}, w[2] = {5, 7}, e[2] = {0}, f[2] = {0};
    span s = {v, 2}, ds = {d, 2}, df = {f, 2};
    vectors t = {v, w}, dt = {d, e};
    counted c = {0.5, 4}, dc = {2, 0};
    expect("span", 0, __enzyme_autodiff((void *)squares, enzyme_dup, s, ds, enzyme_out, 2.0), 13);
    expect("span", 1, d[1], 12);
    d[0] = d[1] = 0;
    __enzyme_autodiff((void *)squares, enzyme_dup, s, enzyme_out, 2.0, enzyme_interleave, ds);
    expect("shadows behind", 0, d[1], 12);
    d[0] = d[1] = 0;
    expect("by address", 0, __enzyme_autodiff((void *)product, enzyme_dup, enzyme_byref, sizeof t, &t, &dt, enzyme_out, 2.0), 10);
    expect("by address", 1, d[0], 10);
    expect("by address", 2, e[0], 4);
    d[0] = e[0] = 0;
    expect("no registers left", 0, __enzyme_autodiff((void *)many, enzyme_out, 2.0, enzyme_dup, t, dt, enzyme_dup, s, ds,
                                                     enzyme_dup, s, df, enzyme_const, c), 5 * 2 * 3 * 2 * 0.5 * 4);
    expect("no registers left", 1, d[1], 5 * 2 * 2 * 2 * 0.5 * 4);
    expect("no registers left", 2, f[0], 5 * 2 * 3 * 2 * 0.5 * 4);
    d[0] = d[1] = e[0] = f[0] = 0;
    expect("no registers left", 3, __enzyme_fwddiff((void *)many, enzyme_const, 2.0, enzyme_dup, t, dt, enzyme_const, s,
                                                    enzyme_const, s, enzyme_dup, c, dc), 5 * 2 * 3 * 2 * 2 * 2 * 4);
}

/* Bytes between members, and bits beside a float. */
typedef struct { short s; float f; double d; } padded;
typedef struct { char c; double d; } small;
typedef struct { float f; unsigned b : 3, c : 5; } bits;
padded __enzyme_autodiff_padded(void *, ...);
bits __enzyme_autodiff_bits(void *, ...);
static double of_padded(padded p) { return p.s * p.f * p.d; }
static double of_small(small p) { return p.c * p.d * p.d; }
static double of_bits(bits p) { return p.f * p.f * p.b * p.c; }

static void paddings(void)
{
    padded p = {2, 3, 4}, dp = {0, 1, 0.5};
    small q = {2, 3}, dq = {0, 1};
    bits b = {2, 3, 4}, db = {1, 0, 0};
    padded g = __enzyme_autodiff_padded((void *)of_padded, enzyme_out, p);
    expect("padded", 0, g.f, 8);
    expect("padded", 1, g.d, 6);
    expect("padded", 2, __enzyme_fwddiff((void *)of_padded, enzyme_dup, p, dp), 8 + 3);
    expect("small", 0, __enzyme_fwddiff((void *)of_small, enzyme_dup, q, dq), 12);
    expect("bits", 0, __enzyme_autodiff_bits((void *)of_bits, enzyme_out, b).f, 48);
    expect("bits", 1, __enzyme_fwddiff((void *)of_bits, enzyme_dup, b, db), 48);
}

int main(void)
{
    results();
    arguments();
    paddings();
    return failures();
}
