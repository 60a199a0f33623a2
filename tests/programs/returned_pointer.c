/* A function that returns a pointer into its argument. */
#include "selfcheck.h"
__attribute__((noinline)) static double *largest(double *x, int n)
{
    double *best = x;
    for (int i = 1; i < n; i++)
        if (x[i] > *best)
            best = x + i;
    return best;
}
static double f(const double *x, int n)
{
    double y[8];
    for (int i = 0; i < n; i++)
        y[i] = x[i] * (3 - x[i]);
    double *p = largest(y, n);
    *p *= 2;
    return *p * y[0] + y[n - 1];
}
int main(void) { CHECK_GRADIENT(f, 6); return failures(); }
