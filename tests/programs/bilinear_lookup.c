/* A table of active numbers, read between its entries. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        double at = x[i] * 1.3;
        int k = (int)at;
        double t = at - k;
        sum += (1 - t) * x[k % n] + t * x[(k + 1) % n] * x[i];
    }
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 6); return failures(); }
