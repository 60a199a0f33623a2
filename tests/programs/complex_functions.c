/* Complex exponential and square root. */
#include "selfcheck.h"
#include <complex.h>
static double f(const double *x, int n)
{
    (void)n;
    double _Complex z = x[0] + x[1] * I;
    double _Complex w = cexp(z) * csqrt(z + x[2]);
    return creal(w) + 2 * cimag(w);
}
int main(void) { CHECK_GRADIENT(f, 3); return failures(); }
