/* Recursion with memory of its own in each frame. */
#include "selfcheck.h"
static double integrate(const double *x, double a, double b, int depth)
{
    double m = (a + b) / 2, v[3];
    for (int i = 0; i < 3; i++) {
        double t = i == 0 ? a : i == 1 ? m : b;
        v[i] = sin(x[0] * t) * x[1];
    }
    if (depth == 0)
        return (b - a) / 6 * (v[0] + 4 * v[1] + v[2]);
    return integrate(x, a, m, depth - 1) + integrate(x, m, b, depth - 1);
}
static double f(const double *x, int n) { return integrate(x, 0, x[n - 1], 4); }
int main(void) { CHECK_GRADIENT(f, 3); return failures(); }
