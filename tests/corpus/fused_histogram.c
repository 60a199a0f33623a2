// Iterations add to places that indices choose, some of them to the same.
// y: 6
// k: 6 values 3 0 5 1 1 4
#include <math.h>
void fused_histogram(const double *restrict x, int n, const int *restrict k, double *restrict y) {
    for (int i = 0; i < n; i++) {
        double a = exp(x[i]);
        y[k[i]] += (a > 2 ? log(a) * a : sin(a)) * a;
    }
}
