/* Conditional expressions: clamps, absolute values and a maximum. */
#include "selfcheck.h"
static double clamp(double x, double low, double high) { return x < low ? low : x > high ? high : x; }
static double f(const double *x, int n)
{
    double best = -1, sum = 0;
    for (int i = 0; i < n; i++) {
        double v = clamp(x[i] * x[i], 0.5, 2.0) - fabs(1 - x[i]);
        best = v > best ? v : best;
        sum += v;
    }
    return best * sum;
}
int main(void) { CHECK_GRADIENT(f, 7); return failures(); }
