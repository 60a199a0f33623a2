/* Two arguments overlap: what is written through one is read through the other. */
#include "selfcheck.h"
__attribute__((noinline)) static void mix(double *a, double *b, int n)
{
    for (int i = 0; i < n; i++)
        a[i] = a[i] * b[i] + b[i];
}
static double f(const double *x, int n)
{
    double y[12], sum = 0;
    memcpy(y, x, n * sizeof *y);
    mix(y + 1, y, n - 1);
    for (int i = 0; i < n; i++)
        sum += y[i];
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
