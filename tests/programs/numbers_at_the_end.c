// An odd number of integers where doubles lie at other times: what marks them is wider than the last.
#include "selfcheck.h"
static __attribute__((noinline)) void fill(void *p, int type, int n, double v)
{
    for (int i = 0; i < n; i++)
        if (type)
            ((double *)p)[i] = v * (i + 1);
        else
            ((int *)p)[i] = i + 7;
}
static double on_the_stack(const double *x, int n)
{
    int k[5];
    double d[5], s = 0;
    fill(k, 0, 5, x[1]);
    fill(d, 1, 5, x[0]);
    for (int i = 0; i < 5; i++)
        s += d[i] * x[i % n] * k[i];
    return s;
}
static double on_the_heap(const double *x, int n)
{
    int *k = malloc(5 * sizeof *k);
    double *d = malloc(5 * sizeof *d), s = 0;
    fill(k, 0, 5, x[1]);
    fill(d, 1, 5, x[0]);
    for (int i = 0; i < 5; i++)
        s += d[i] * x[i % n] * k[i];
    free(k);
    free(d);
    return s;
}
int main(void)
{
    CHECK_GRADIENT(on_the_stack, 5);
    CHECK_GRADIENT(on_the_heap, 5);
    return failures();
}
