/* C's complex type. */
#include "selfcheck.h"
#include <complex.h>
static double f(const double *x, int n)
{
    double _Complex z = x[0] + x[1] * I, w = 0;
    for (int i = 0; i < n; i++)
        w = w * z + x[i] / (1 + z);
    return creal(w) * cimag(w) + cabs(z);
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
