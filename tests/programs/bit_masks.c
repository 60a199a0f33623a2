/* Bits of an integer choose the numbers. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double sum = 0;
    for (unsigned mask = 1; mask < (1u << n); mask++) {
        double product = 1;
        for (int i = 0; i < n; i++)
            if (mask >> i & 1)
                product *= x[i];
        sum += product / __builtin_popcount(mask);
    }
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
