/* A counter in static memory decides nothing about derivatives; a static buffer does. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    static int calls;
    static double last[8];
    calls++;
    for (int i = 0; i < n; i++)
        last[i] = exp(-x[i]);
    double sum = calls < 0;
    for (int i = 0; i < n; i++)
        sum += last[i] * x[n - 1 - i];
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 5); return failures(); }
