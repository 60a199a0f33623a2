// What one iteration writes the next one writes again.
// y: 13
#include <math.h>
void fused_overlapping_writes(const double *restrict x, int n, double *restrict y) {
    for (int i = 0; i < n; i++) {
        double a = exp(x[i]), r = a > 2 ? log(a) * a : sin(a);
        y[2 * i] = r * r;
        y[2 * i + 2] = r * a;
    }
}
