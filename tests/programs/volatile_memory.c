/* volatile integers decide, volatile doubles are copied. */
#include "selfcheck.h"
static volatile int limit = 3;
static double f(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n && i < limit; i++)
        sum += x[i] * x[i] * x[i];
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 5); return failures(); }
