/* A small buffer on the stack, a large one on the heap. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double small[4], *y = n > 4 ? (double *)malloc(n * sizeof *y) : small, sum = 0;
    for (int i = 0; i < n; i++)
        y[i] = x[i] * x[i];
    for (int i = 0; i < n; i++)
        sum += y[i] * y[n - 1 - i];
    if (y != small)
        free(y);
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 3); CHECK_GRADIENT(f, 6); return failures(); }
