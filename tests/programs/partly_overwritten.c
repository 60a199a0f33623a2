/* Part of a buffer is overwritten by constants, by memset and by other values. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double y[8];
    for (int i = 0; i < n; i++)
        y[i] = x[i] * x[i];
    y[1] = 3;
    memset(y + 3, 0, 2 * sizeof *y);
    y[4] = y[0] * x[4];
    y[0] = x[5];
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += y[i] * (i + 1);
    return sum * sum;
}
int main(void) { CHECK_GRADIENT(f, 6); return failures(); }
