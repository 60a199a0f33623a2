/* The shadow of one derivative is the primal memory of the next, in a function that both are inlined into. */
#include "selfcheck.h"
static void step(double *x, double w)
{
    x[0] = w * x[1];
    x[1] = w * w;
}
static __attribute__((noinline)) void both(double *p, double *d, double *e, double w)
{
    d[0] = 1.0;
    d[1] = 0.5;
    __enzyme_fwddiff_void((void *)step, enzyme_dup, p, d, enzyme_dup, w, 0.2);
    __enzyme_fwddiff_void((void *)step, enzyme_dup, d, e, enzyme_dup, w, 0.4);
}
int main(void)
{
    double p[2], d[2], e[2] = {0.3, 0.7}, w = 0.9;
    sample(p, 2);
    both(p, d, e, w);
    double first = 2 * w * 0.2; /* d[1] in between */
    expect("value", 0, d[0], w * first);
    expect("value", 1, d[1], w * w);
    expect("tangent", 0, e[0], 0.4 * first + w * 0.7);
    expect("tangent", 1, e[1], 2 * w * 0.4);
    return failures();
}
