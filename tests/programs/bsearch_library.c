/* bsearch of the library, in a table of constants. */
#include "selfcheck.h"
static const double table[] = {0.5, 1.0, 1.5, 2.0, 2.5};
static int order(const void *key, const void *at)
{
    double k = *(const double *)key, a = *(const double *)at;
    return k < a ? -1 : k >= a + 0.5 ? 1 : 0;
}
static double f(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        double key = x[i];
        const double *found = (const double *)bsearch(&key, table, 5, sizeof *table, order);
        sum += found ? (x[i] - *found) * (x[i] - *found) : x[i];
    }
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 6); return failures(); }
