/* A cubic spline through the data, evaluated between them. */
#include "selfcheck.h"
static double f(const double *y, int n)
{
    double m[8] = {0}, c[8], d[8], sum = 0;
    c[0] = d[0] = 0;
    for (int i = 1; i + 1 < n; i++) {
        double r = 6 * (y[i - 1] - 2 * y[i] + y[i + 1]), p = 4 - c[i - 1];
        c[i] = 1 / p;
        d[i] = (r - d[i - 1]) / p;
    }
    for (int i = n - 2; i > 0; i--)
        m[i] = d[i] - c[i] * m[i + 1];
    for (int i = 0; i + 1 < n; i++) {
        double t = 0.3, u = 1 - t;
        sum += pow(u * y[i] + t * y[i + 1] + (u * u * u - u) * m[i] / 6 + (t * t * t - t) * m[i + 1] / 6, 2);
    }
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 6); return failures(); }
