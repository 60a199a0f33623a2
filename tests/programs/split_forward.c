/* Forward mode from a tape: memory has changed since the function ran. */
#include "selfcheck.h"
typedef struct { void *tape; double value; } kept;
typedef struct { double value, tangent; } both;
typedef struct { double tangent[2]; } two;
void *__enzyme_augmentfwd(void *, ...), *__enzyme_augmentfwd_more(void *, ...);
kept __enzyme_augmentfwd_kept(void *, ...);
void __enzyme_fwdsplit(void *, ...);
double __enzyme_fwdsplit_one(void *, ...);
both __enzyme_fwdsplit_both(void *, ...);
two __enzyme_fwdsplit_two(void *, ...);
int __enzyme_augmentsize(void *, ...);
typedef struct { double *w, scale; int n; } layer;
static void cube(const double *x, double *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = x[i] * x[i] * x[i];
}
static double sum(const double *a, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += a[i];
    return s;
}
static double f(double *x, double k, int n) /* in place, with memory of its own, and a branch */
{
    double a[4], *b = (double *)malloc(n * sizeof(double));
    cube(x, a, n);
    for (int i = 0; i < n; i++) {
        b[i] = x[i] > 1 ? sin(a[i]) * k : a[i];
        x[i] = b[i] * x[i];
    }
    double s = sum(b, n) + x[0];
    free(b);
    return s;
}
static double g(const layer *l, const double *x)
{
    double s = 0;
    for (int i = 0; i < l->n; i++)
        s += l->w[i] * x[i];
    return tanh(s) * l->scale;
}
static void set(double *x) { x[0] = 0.7, x[1] = 1.3, x[2] = 0.9; }
static double along(double h)
{
    double x[3];
    set(x);
    for (int i = 0; i < 3; i++)
        x[i] += h * (i + 1);
    return f(x, 2 + 5 * h, 3);
}
int main(void)
{
    double x[3], t[3] = {1, 2, 3}, u[3] = {1, 2, 3}, wanted = (along(1e-6) - along(-1e-6)) / 2e-6;
    set(x);
    kept a = __enzyme_augmentfwd_kept((void *)f, enzyme_dup, x, t, 2.0, 3);
    expect("value", 0, a.value, along(0));
    x[0] = x[1] = x[2] = 50;
    both r = __enzyme_fwdsplit_both((void *)f, enzyme_primal_return, enzyme_nofree, enzyme_dup, x, t, 2.0, 5.0, 3, a.tape);
    expect("primal", 0, r.value, along(0));
    expect("tangent", 0, r.tangent, wanted);
    expect("memory stays", 0, x[0], 50);
    expect("again", 0, __enzyme_fwdsplit_one((void *)f, enzyme_dup, x, u, enzyme_dup, 2.0, 5.0, enzyme_const, 3, a.tape), wanted);

    double w[2] = {0.3, 0.4}, dw[2] = {1, 0}, ew[2] = {0, 1}, z[2] = {1, 2}, place;
    layer l = {w, 2, 2}, d = {dw, 0, 2}, e = {ew, 0, 2};
    int bytes = __enzyme_augmentsize((void *)g, enzyme_dup, enzyme_const);
    __enzyme_augmentfwd_more((void *)g, enzyme_allocated, bytes, enzyme_tape, &place, enzyme_dup, &l, &d, enzyme_const, z);
    double slope = 2 * (1 - tanh(1.1) * tanh(1.1));
    w[0] = w[1] = z[0] = z[1] = 7;
    two both_ways = __enzyme_fwdsplit_two((void *)g, enzyme_width, 2, enzyme_allocated, bytes, enzyme_tape, &place, enzyme_dup,
                                          &l, &d, &e, enzyme_const, z);
    expect("lane", 0, both_ways.tangent[0], slope);
    expect("lane", 1, both_ways.tangent[1], 2 * slope);

    double y[2], dy[2], q[2] = {2, 3}, dq[2] = {1, 1};
    __enzyme_fwdsplit((void *)cube, enzyme_dup, q, dq, enzyme_dup, y, dy, enzyme_const, 2, (void *)0);
    expect("no tape", 1, dy[1], 27);
    return failures();
}
