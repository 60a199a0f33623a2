/* Welford's mean and variance. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double mean = 0, m2 = 0;
    for (int i = 0; i < n; i++) {
        double d = x[i] - mean;
        mean += d / (i + 1);
        m2 += d * (x[i] - mean);
    }
    return mean * sqrt(m2 / (n - 1));
}
int main(void) { CHECK_GRADIENT(f, 6); return failures(); }
