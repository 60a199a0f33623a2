/* x86's 80-bit numbers. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    long double sum = 0, product = 1;
    for (int i = 0; i < n; i++) {
        sum += sinl(x[i]) * x[i];
        product *= 1 + (long double)x[i] / 4;
    }
    return (double)(sum * sqrtl(product));
}
int main(void) { CHECK_GRADIENT(f, 5); return failures(); }
