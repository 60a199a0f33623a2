/* Scratch memory that each thread has for itself. */
#include "selfcheck.h"
static _Thread_local double scratch[8];
static double f(const double *x, int n)
{
    for (int i = 0; i < n; i++)
        scratch[i] = x[i] * x[i];
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += scratch[i] * scratch[n - 1 - i];
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
