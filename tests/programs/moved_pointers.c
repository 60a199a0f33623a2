/* Pointers are moved within one array, up and down. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    const double **p = (const double **)malloc((size_t)(n + 1) * sizeof *p);
    for (int i = 0; i < n; i++)
        p[i] = x + i;
    memmove(p + 1, p, (size_t)n * sizeof *p);
    p[0] = x + n - 1;
    double sum = 0;
    for (int i = 0; i <= n; i++)
        sum += (i + 1) * *p[i] * *p[i];
    memmove(p, p + 1, (size_t)n * sizeof *p);
    for (int i = 0; i < n; i++)
        sum += (i + 1) * *p[i] * *p[i] * *p[i];
    free(p);
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
