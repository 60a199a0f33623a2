/* Numbers add to bins that they choose. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double bins[8] = {0}, sum = 0;
    for (int i = 0; i < n; i++) {
        int k = (int)(x[i] * 2);
        double t = x[i] * 2 - k;
        bins[k % 8] += 1 - t;
        bins[(k + 1) % 8] += t;
    }
    for (int k = 0; k < 8; k++)
        sum += bins[k] * bins[k] * (k + 1);
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 8); return failures(); }
