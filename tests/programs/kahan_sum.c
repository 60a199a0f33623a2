/* A compensated sum: what is compensated is zero, its derivative is right. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double sum = 0, c = 0;
    for (int i = 0; i < n; i++) {
        double y = x[i] * x[i] - c, t = sum + y;
        c = (t - sum) - y;
        sum = t;
    }
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 6); return failures(); }
