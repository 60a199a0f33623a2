/* Structs of a float and a short in one word, whose last bytes are nothing: adjoints, values and tangents beside others. */
#include "selfcheck.h"

struct mixed { float a; short n; float b; signed char m; };
struct adjoints { struct mixed x; double y; };
struct kept { void *tape; struct mixed value; };
struct adjoints __enzyme_autodiff_beside(void *, ...);
struct adjoints __enzyme_reverse_beside(void *, ...);
struct kept __enzyme_augmentfwd_kept(void *, ...);
struct both { struct mixed value, tangent; };
struct both __enzyme_fwddiff_both(void *, ...);

static double product(struct mixed x, double y) { return x.a * x.b * y * x.n * x.m; }

static struct mixed scaled(struct mixed x, double y)
{
    struct mixed r = {x.a * y, x.n + 1, x.b * y * x.a, 2};
    return r;
}

/* The short has a register of its own. */
struct apart { short n; double a; };
struct apart __enzyme_autodiff_apart(void *, ...);
static double cube(struct apart x) { return x.a * x.a * x.a * x.n; }

/* It comes back in a register, and its seed goes through memory. */
struct wide { long double a; };
struct kept_wide { void *tape; struct wide value; };
struct kept_wide __enzyme_augmentfwd_wide(void *, ...);
double __enzyme_reverse_wide(void *, ...);
static struct wide cubed(double x) { struct wide r = {x * x * x}; return r; }

int main(void)
{
    struct kept_wide w = __enzyme_augmentfwd_wide((void *)cubed, enzyme_out, 2.0);
    struct wide half = {0.5L};
    expect("wide", 0, w.value.a, 8);
    expect("wide", 1, __enzyme_reverse_wide((void *)cubed, enzyme_out, 2.0, half, w.tape), 6);
    struct apart three = {3, 2};
    expect("apart", 0, __enzyme_autodiff_apart((void *)cube, enzyme_out, three).a, 36);
    struct mixed x = {5, 3, 2, 2}, dx = {1, 0, -3, 0}, seed = {1, 0, 0.5, 0};
    struct adjoints r = __enzyme_autodiff_beside((void *)product, enzyme_out, x, enzyme_out, 7.0);
    expect("adjoint", 0, r.x.a, 84), expect("adjoint", 1, r.x.b, 210), expect("adjoint", 2, r.y, 60);
    struct kept k = __enzyme_augmentfwd_kept((void *)scaled, enzyme_out, x, enzyme_out, 7.0);
    expect("value", 0, k.value.a, 35), expect("value", 1, k.value.n, 4);
    expect("value", 2, k.value.b, 70), expect("value", 3, k.value.m, 2);
    r = __enzyme_reverse_beside((void *)scaled, enzyme_out, x, enzyme_out, 7.0, seed, k.tape);
    expect("reverse", 0, r.x.a, 7 + 0.5 * 14), expect("reverse", 1, r.x.b, 0.5 * 35), expect("reverse", 2, r.y, 5 + 0.5 * 10);
    struct both t = __enzyme_fwddiff_both((void *)scaled, enzyme_primal_return, enzyme_dup, x, dx, enzyme_const, 7.0);
    expect("tangent", 0, t.value.a, 35), expect("tangent", 1, t.value.b, 70);
    expect("tangent", 2, t.tangent.a, 7), expect("tangent", 3, t.tangent.b, 14 - 3 * 35);
    return failures();
}
