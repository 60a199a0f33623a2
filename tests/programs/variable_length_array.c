/* Stack memory of a size that the program computes. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double total = 0;
    for (int m = 1; m <= n; m++) {
        double part[m];
        for (int i = 0; i < m; i++)
            part[i] = x[i] * x[m - 1];
        for (int i = 0; i < m; i++)
            total += part[i] * part[m - 1 - i];
    }
    return total;
}
int main(void) { CHECK_GRADIENT(f, 5); return failures(); }
