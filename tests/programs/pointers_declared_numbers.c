/* What is declared to be numbers holds a pointer: it is loaded from the argument, and from where that was handed on. */
#include "selfcheck.h"
struct box { double *a; };
struct hold { void *w; };
__attribute__((noinline)) static double squared(struct hold *h)
{
    struct box *b = h->w;
    return b->a[0] * b->a[0];
}
static double handed(double *w)
{
    struct hold *h = malloc(sizeof *h);
    h->w = w;
    double r = squared(h);
    free(h);
    return r;
}
static double direct(double *w) { return 3 * *((struct box *)w)->a; }
int main(void)
{
    double x = 3, dx = 0, *p = &x, *dp = &dx;
    __enzyme_autodiff((void *)direct, enzyme_dup, (double *)&p, (double *)&dp);
    expect("direct", 0, dx, 3);
    dx = 0;
    __enzyme_autodiff((void *)handed, enzyme_dup, (double *)&p, (double *)&dp);
    expect("handed", 0, dx, 6);
    return failures();
}
