/* A linear solver that stops when it is good enough. */
#include "selfcheck.h"
static void apply(const double *x, const double *p, double *q, int n)
{
    for (int i = 0; i < n; i++)
        q[i] = (2 + x[i]) * p[i] - (i ? p[i - 1] : 0) - (i + 1 < n ? p[i + 1] : 0);
}
static double dot(const double *a, const double *b, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += a[i] * b[i];
    return s;
}
static double f(const double *x, int n)
{
    double u[8] = {0}, r[8], p[8], q[8];
    for (int i = 0; i < n; i++)
        r[i] = p[i] = 1;
    double rr = dot(r, r, n);
    for (int k = 0; k < 4 * n && rr > 1e-26; k++) {
        apply(x, p, q, n);
        double a = rr / dot(p, q, n), before = rr;
        for (int i = 0; i < n; i++) {
            u[i] += a * p[i];
            r[i] -= a * q[i];
        }
        rr = dot(r, r, n);
        for (int i = 0; i < n; i++)
            p[i] = r[i] + rr / before * p[i];
    }
    return dot(u, u, n);
}
int main(void)
{
    double x[5], d[5] = {0};
    sample(x, 5);
    __enzyme_autodiff_void((void *)f, enzyme_dup, x, d, enzyme_const, 5);
    for (int i = 0; i < 5; i++)
        expect_within("f", i, d[i], slope_by(f, 5, i), 1e-6);
    return failures();
}
