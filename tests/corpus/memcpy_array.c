// Arrays copied, changed, and copied back.
#include <string.h>
void memcpy_array(double *x, int n, double *y, int m) {
    double t[8];
    memcpy(t, x, n * sizeof *x);
    for (int i = 0; i < n; i++) t[i] *= t[(i + 1) % n];
    memcpy(x + 1, t + 2, 3 * sizeof *x);
    memcpy(y, x, m * sizeof *y);
    y[0] *= t[0];
}
