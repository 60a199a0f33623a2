/* Results are kept in a table and read again. */
#include "selfcheck.h"
static double value(double *memo, int *known, const double *x, int k)
{
    if (known[k])
        return memo[k];
    double v = k < 2 ? x[k] : value(memo, known, x, k - 1) * x[0] + value(memo, known, x, k - 2);
    known[k] = 1;
    return memo[k] = v;
}
static double f(const double *x, int n)
{
    double memo[12];
    int known[12] = {0};
    return value(memo, known, x, 8 + n * 0) * value(memo, known, x, 5);
}
int main(void) { CHECK_GRADIENT(f, 2); return failures(); }
