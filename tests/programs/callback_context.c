/* A callback with a context that holds active numbers. */
#include "selfcheck.h"
struct context { double rate; double *sum; };
static void add(double v, void *data)
{
    struct context *c = (struct context *)data;
    *c->sum += c->rate * v * v;
}
__attribute__((noinline)) static void each(const double *x, int n, void (*call)(double, void *), void *data)
{
    for (int i = 0; i < n; i++)
        call(x[i], data);
}
static double f(const double *x, int n)
{
    double sum = 0;
    struct context c = {x[0], &sum};
    each(x, n, add, &c);
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
