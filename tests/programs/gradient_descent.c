/* Derivatives steer the program that asks for them. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += (x[i] - i) * (x[i] - i) * (1 + 0.1 * i);
    return sum;
}
int main(void)
{
    double x[4], d[4];
    sample(x, 4);
    for (int k = 0; k < 200; k++) {
        clear(d, 4);
        __enzyme_autodiff_void((void *)f, enzyme_dup, x, d, enzyme_const, 4);
        for (int i = 0; i < 4; i++)
            x[i] -= 0.2 * d[i];
    }
    for (int i = 0; i < 4; i++)
        expect("minimum", i, x[i], i);
    return failures();
}
