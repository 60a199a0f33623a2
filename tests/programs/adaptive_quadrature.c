/* Simpson's rule that recurs where it is not good enough, over a function that is passed with its coefficients. */
#include "selfcheck.h"
typedef double (*integrand)(double, const double *);
static double wave(double t, const double *c) { return exp(-c[0] * t) * sin(c[1] * t * t); }
static double integral(integrand g, const double *c, double from, double to, double error, int depth)
{
    double m = (from + to) / 2, a = g(from, c), b = g(to, c), middle = g(m, c), sixth = (to - from) / 6;
    double whole = sixth * (a + 4 * middle + b), left = sixth / 2 * (a + 4 * g((from + m) / 2, c) + middle);
    double right = sixth / 2 * (middle + 4 * g((m + to) / 2, c) + b);
    if (depth <= 0 || fabs(left + right - whole) < error)
        return left + right;
    return integral(g, c, from, m, error / 2, depth - 1) + integral(g, c, m, to, error / 2, depth - 1);
}
static double f(const double *x, int n) { return integral(wave, x, 0, x[2], 1e-4, 8) + n; }
int main(void) { CHECK_EVERY_WAY(f, 3); return failures(); }
