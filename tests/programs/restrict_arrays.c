/* restrict, and calls with the same array twice where nothing is written. */
#include "selfcheck.h"
static void scale(int n, double a, const double *restrict x, double *restrict y)
{
    for (int i = 0; i < n; i++)
        y[i] = a * x[i] * x[i];
}
static double dot(int n, const double *restrict a, const double *restrict b)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += a[i] * b[i];
    return s;
}
static double f(const double *x, int n)
{
    double y[8];
    scale(n, x[0], x, y);
    return dot(n, y, y) + dot(n, x, y);
}
int main(void) { CHECK_GRADIENT(f, 5); return failures(); }
