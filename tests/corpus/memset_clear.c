// Arrays cleared by memset, also in the middle.
#include <string.h>
void memset_clear(double *x, int n, double *y, int m) {
    y[0] = x[0] * x[1];
    memset(x, 0, 2 * sizeof *x);
    y[1] = x[0] + x[2] * x[3];
    memset(y + 2, 0, (m - 2) * sizeof *y);
    y[2] += y[0] * x[4];
}
