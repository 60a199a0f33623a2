/* A filter of one state over a series. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double state = 0, p = 1, like = 0, q = x[0] * 0.1, r = x[1];
    for (int t = 0; t < n; t++) {
        p += q;
        double s = p + r, k = p / s, e = x[t] - state;
        state += k * e;
        p *= 1 - k;
        like += log(s) + e * e / s;
    }
    return like;
}
int main(void) { CHECK_GRADIENT(f, 8); return failures(); }
