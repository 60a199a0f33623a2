/* A Hessian times a vector: forward over reverse on an array. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * x[i] * x[(i + 1) % n];
    return sum;
}
static void gradient(const double *x, double *g, int n)
{
    for (int i = 0; i < n; i++)
        g[i] = 0;
    __enzyme_autodiff_void((void *)f, enzyme_dup, x, g, enzyme_const, n);
}
int main(void)
{
    double x[3] = {1, 2, 3}, v[3] = {1, 1, 1}, g[3], hv[3] = {0};
    __enzyme_fwddiff_void((void *)gradient, enzyme_dup, x, v, enzyme_dup, g, hv, enzyme_const, 3);
    for (int i = 0; i < 3; i++)
        expect("Hv", i, hv[i], 2 * x[(i + 1) % 3] + 2 * x[i] + 2 * x[(i + 2) % 3]);
    return failures();
}
