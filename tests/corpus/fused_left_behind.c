// An array that the iterations share holds, in each, what the one before left there.
// y: 6
#include <math.h>
double fused_left_behind(const double *restrict x, int n, double *restrict y) {
    double work[4] = {1, 0, 0, 0}, total = 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < 4; j++) work[j] = 0.5 * sin(work[(j + i) % 4] + x[i]) * exp(work[j]);
        y[i] = work[i % 4];
        total += work[1];
    }
    return total;
}
