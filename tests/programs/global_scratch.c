/* Intermediate values in a global array. */
#include "selfcheck.h"
static double scratch[16];
static void fill(const double *x, int n)
{
    for (int i = 0; i < n; i++)
        scratch[i] = x[i] * x[i];
}
static double f(const double *x, int n)
{
    double sum = 0;
    fill(x, n);
    for (int i = 0; i < n; i++)
        sum += scratch[i] * scratch[(i + 2) % n];
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 5); return failures(); }
