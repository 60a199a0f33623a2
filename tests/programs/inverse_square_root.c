/* A custom loop of multiplications: powers by squaring, with an integer exponent from the data. */
#include "selfcheck.h"
static double power(double x, unsigned n)
{
    double r = 1;
    for (; n; n >>= 1, x *= x)
        if (n & 1)
            r *= x;
    return r;
}
static double f(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += power(x[i], (unsigned)(x[i] * 4) + i) / power(1.5, i);
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 5); return failures(); }
