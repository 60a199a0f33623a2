/* A polynomial and its value at the last number. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double v = 0;
    for (int i = n - 2; i >= 0; i--)
        v = v * x[n - 1] + x[i];
    return v;
}
int main(void) { CHECK_GRADIENT(f, 7); return failures(); }
