/* Shortest paths: an index array decides where numbers flow. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    static const int from[] = {0, 0, 1, 2, 1, 3, 2}, to[] = {1, 2, 2, 3, 3, 4, 4};
    double d[5] = {0, 1e3, 1e3, 1e3, 1e3};
    for (int round = 0; round < 5; round++)
        for (int e = 0; e < n; e++) {
            double through = d[from[e]] + x[e] * x[e];
            if (through < d[to[e]])
                d[to[e]] = through;
        }
    return d[4] * d[3];
}
int main(void) { CHECK_GRADIENT(f, 7); return failures(); }
