/* One array for two arguments, one shadow for both; sums in place; what keeps a part of what was there. */
#include "selfcheck.h"
#define CHK(got, wanted) expect_within(#got, __LINE__, got, wanted, 1e-5)
double __enzyme_autodiff_d(void *, ...);
double dot(const double *a, const double *b, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += a[i] * b[i] * b[i];
    return s;
}
void axpy(double a, const double *x, double *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] += a * x[i];
}
void cumsum(double *x, int n)
{
    for (int i = 1; i < n; i++)
        x[i] += x[i - 1] * x[i - 1];
}
void outer(const double *x, double *restrict M, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            M[i * n + j] = x[i] * x[j] + (i == j ? M[i * n + j] : 0);
}
int main()
{
    double a[3] = {1, 2, 3}, d[3] = {0};
    __enzyme_autodiff_void((void *)dot, enzyme_dup, a, d, enzyme_dup, a, d, 3);
    for (int i = 0; i < 3; i++)
        CHK(d[i], 3 * a[i] * a[i]);
    double e[3] = {0};
    __enzyme_autodiff_void((void *)dot, enzyme_const, a, enzyme_dup, a, e, 3);
    for (int i = 0; i < 3; i++)
        CHK(e[i], 2 * a[i] * a[i]);
    double y[3] = {1, 1, 1}, dy[3] = {1, 2, 3}, dx[3] = {0};
    double da = __enzyme_autodiff_d((void *)axpy, enzyme_out, 2.0, enzyme_dup, a, dx, enzyme_dup, y, dy, 3);
    CHK(da, 14);
    CHK(dx[2], 6);
    CHK(dy[1], 2);
    double z[3] = {1, 2, 3}, dz[3] = {1, 2, 3};
    double ds = __enzyme_autodiff_d((void *)axpy, 2.0, z, dz, z, dz, 3);
    CHK(ds, 1 * 1 + 2 * 2 + 3 * 3);
    CHK(dz[0], 3);
    CHK(dz[2], 9);
    double c[4] = {.5, .6, .7, .8}, dc[4] = {0, 0, 0, 1};
    __enzyme_autodiff_void((void *)cumsum, c, dc, 4);
    double k[4] = {.5, .6, .7, .8};
    for (int i = 0; i < 4; i++) {
        double w[2];
        for (int s = 0; s < 2; s++) {
            double q[4];
            memcpy(q, k, 32);
            q[i] += s ? -1e-5 : 1e-5;
            cumsum(q, 4);
            w[s] = q[3];
        }
        CHK(dc[i], (w[0] - w[1]) / 2e-5);
    }
    double M[9] = {0}, dM[9], dv[3] = {0};
    for (int i = 0; i < 9; i++)
        dM[i] = i + 1;
    __enzyme_autodiff_void((void *)outer, enzyme_dup, a, dv, enzyme_dupnoneed, M, dM, 3);
    CHK(dv[0], 2 * 1 * 1 + 2 * 2 + 3 * 3 + 4 * 2 + 7 * 3);
    return failures();
}
