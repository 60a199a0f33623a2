/* Indices from memory: reads and writes through a permutation with repeats. */
#include "selfcheck.h"
static const int index_of[] = {2, 0, 2, 4, 1, 1};
static double f(const double *x, int n)
{
    double y[6] = {0}, sum = 0;
    for (int i = 0; i < n; i++)
        y[index_of[i]] += x[i] * x[index_of[(i + 1) % n]];
    for (int i = 0; i < n; i++)
        sum += y[i] * y[i];
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 6); return failures(); }
