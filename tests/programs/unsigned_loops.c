/* Loops that count down in unsigned numbers, by two, and to zero. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double sum = 0;
    for (unsigned i = (unsigned)n; i != 0; i--)
        sum += x[i - 1] * (double)i;
    for (unsigned char k = 250; k > 240; k -= 3)
        sum *= 1 + x[k % (unsigned)n] / 10;
    for (size_t i = 0; i < (size_t)n; i += 2)
        sum += x[i] * x[i];
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 5); return failures(); }
