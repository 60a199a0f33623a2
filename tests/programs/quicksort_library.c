/* qsort of the library. */
#include "selfcheck.h"
static int order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static double f(const double *x, int n)
{
    double y[8], sum = 0;
    memcpy(y, x, n * sizeof *y);
    qsort(y, n, sizeof *y, order);
    for (int i = 0; i < n; i++)
        sum += y[i] * y[i] * (i + 1);
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 6); return failures(); }
