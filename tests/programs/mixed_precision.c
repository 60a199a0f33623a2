/* Sums of floats in doubles, doubles rounded to floats. */
#include "selfcheck.h"
static float f(const float *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += (double)x[i] * exp((double)x[i]);
    return (float)sqrt(sum);
}
int main(void)
{
    float x[3] = {0.5f, 1, 1.5f}, d[3] = {0};
    double sum = 0;
    for (int i = 0; i < 3; i++)
        sum += x[i] * exp(x[i]);
    __enzyme_autodiff_void((void *)f, enzyme_dup, x, d, enzyme_const, 3);
    for (int i = 0; i < 3; i++)
        expect_within("f", i, d[i], (1 + x[i]) * exp(x[i]) / (2 * sqrt(sum)), 1e-5);
    return failures();
}
