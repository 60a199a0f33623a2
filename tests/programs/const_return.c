/* A function that returns how many it has seen: an integer has no derivative. */
#include "selfcheck.h"
static int count(const double *x, double *y, int n)
{
    int seen = 0;
    for (int i = 0; i < n; i++)
        if (x[i] > 0.7) {
            y[seen++] = x[i] * x[i];
        }
    return seen;
}
static double f(const double *x, int n)
{
    double y[8] = {0}, sum = 0;
    int m = count(x, y, n);
    for (int i = 0; i < m; i++)
        sum += y[i] * (m - i);
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 6); return failures(); }
