/* Infinities in parts that are not taken, NaN in none. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double best = INFINITY, sum = 0;
    for (int i = 0; i < n; i++) {
        if (x[i] < best)
            best = x[i];
        sum += isfinite(best) ? best * x[i] : 0;
    }
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 5); return failures(); }
