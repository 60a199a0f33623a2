/* Sorting by hand: who moves where depends on the data. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double y[8], sum = 0;
    for (int i = 0; i < n; i++) {
        int j = i;
        for (; j && y[j - 1] < x[i]; j--)
            y[j] = y[j - 1];
        y[j] = x[i];
    }
    for (int i = 0; i < n; i++)
        sum += y[i] * y[i] / (i + 1);
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 7); return failures(); }
