// A rectangular nest of two loops.
#include <math.h>
void nested_loops(double *x, int n, double *y, int m) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) y[j] += sin(x[i] * y[j]);
}
