/* A block of the heap that holds numbers first and doubles after: that is C, and types do not keep the two apart. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    int *k = (int *)malloc(8 * n);
    double s = 0;
    for (int i = 0; i < 2 * n; i++)
        k[i] = 3 * i + 1;
    for (int i = 0; i < 2 * n; i++)
        s += k[i] * x[i % n] * x[i % n];
    double *d = (double *)k;
    for (int i = 0; i < n; i++)
        d[i] = x[i] * s;
    for (int i = 0; i < n; i++)
        s += d[i];
    free(k);
    return s;
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
