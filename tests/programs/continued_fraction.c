/* From the inside out. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double v = 0;
    for (int i = n; i-- > 0;)
        v = 1 / (x[i] + v);
    return v;
}
int main(void) { CHECK_GRADIENT(f, 6); return failures(); }
