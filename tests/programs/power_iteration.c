/* The largest eigenvalue, with a vector that is scaled in each step. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double v[4] = {1, 1, 1, 1}, w[4], lambda = 0;
    for (int k = 0; k < 60; k++) {
        double norm = 0;
        for (int i = 0; i < 3; i++) {
            w[i] = (3 + x[i]) * v[i] * (i == 0 ? 2 : 1);
            for (int j = 0; j < 3; j++)
                w[i] += 0.1 * x[(i + j) % n] * v[j];
        }
        for (int i = 0; i < 3; i++)
            norm += w[i] * w[i];
        lambda = sqrt(norm);
        for (int i = 0; i < 3; i++)
            v[i] = w[i] / lambda;
    }
    return lambda;
}
int main(void)
{
    double x[3], d[3] = {0};
    sample(x, 3);
    __enzyme_autodiff_void((void *)f, enzyme_dup, x, d, enzyme_const, 3);
    for (int i = 0; i < 3; i++)
        expect_within("f", i, d[i], slope_by(f, 3, i), 1e-6);
    return failures();
}
