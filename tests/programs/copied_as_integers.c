/* Doubles travel as 64-bit integers. */
#include "selfcheck.h"
#include <stdint.h>
static void copy(double *to, const double *from, int n)
{
    for (int i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, from + i, 8);
        memcpy(to + i, &bits, 8);
    }
}
static double f(const double *x, int n)
{
    double y[8], sum = 0;
    copy(y, x, n);
    for (int i = 0; i < n; i++)
        sum += y[i] * y[i] * y[(i + 1) % n];
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 5); return failures(); }
