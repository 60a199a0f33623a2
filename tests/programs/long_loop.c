/* A hundred thousand iterations with a kept value each. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double y = x[0];
    for (int i = 0; i < 100000; i++)
        y = sin(y) * 0.9 + x[1 + i % (n - 1)] * 0.5;
    return y;
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
