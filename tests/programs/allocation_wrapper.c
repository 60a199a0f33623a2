/* Allocation through functions of the program's own. */
#include "selfcheck.h"
static void *take(size_t n) { void *p = malloc(n); if (!p) abort(); return p; }
static double *numbers(int n) { return (double *)take((size_t)n * sizeof(double)); }
static void give(void *p) { if (p) free(p); }
static double f(const double *x, int n)
{
    double *a = numbers(n), *b = numbers(n), sum = 0;
    for (int i = 0; i < n; i++) {
        a[i] = x[i] * x[i];
        b[i] = a[i] + x[0];
    }
    for (int i = 0; i < n; i++)
        sum += a[i] * b[n - 1 - i];
    give(a);
    give(b);
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
