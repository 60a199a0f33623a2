/* Pointers from the middle, backwards, and by integer arithmetic. */
#include "selfcheck.h"
#include <stdint.h>
static double f(const double *x, int n)
{
    double y[8], sum = 0;
    for (double *p = y + n; p-- > y;)
        *p = x[p - y] * x[0];
    const double *middle = y + n / 2;
    for (int k = -(n / 2); k < n - n / 2; k++)
        sum += middle[k] * middle[k] * (k + 3);
    const double *last = (const double *)((uintptr_t)y + (n - 1) * sizeof *y);
    return sum * *last;
}
int main(void) { CHECK_GRADIENT(f, 5); return failures(); }
