/* The program's own arena: everything lies in one block. */
#include "selfcheck.h"
struct arena { char *base; size_t used; };
static double *reserve(struct arena *a, int n)
{
    double *p = (double *)(a->base + a->used);
    a->used += (size_t)n * sizeof *p;
    return p;
}
static double f(const double *x, int n)
{
    struct arena a = {(char *)malloc(1024), 0};
    double *u = reserve(&a, n), *v = reserve(&a, n), sum = 0;
    for (int i = 0; i < n; i++) {
        u[i] = sin(x[i]);
        v[i] = u[i] * x[i];
    }
    for (int i = 0; i < n; i++)
        sum += u[i] * v[(i + 1) % n];
    free(a.base);
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
