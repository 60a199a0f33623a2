/* Newton's method until it is good enough. */
#include "selfcheck.h"
static double root(double a)
{
    double y = a;
    while (fabs(y * y - a) > 1e-13 * a)
        y = 0.5 * (y + a / y);
    return y;
}
static double f(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += root(x[i]) * root(x[(i + 1) % n] + 1);
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 3); return failures(); }
