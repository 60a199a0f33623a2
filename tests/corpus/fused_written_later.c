// What the iterations write is written again when the loop is done: those are not their adjoints.
// y: 6
#include <math.h>
void fused_written_later(const double *restrict x, int n, double *restrict y) {
    for (int i = 0; i < n; i++) {
        double a = exp(x[i]);
        y[i] = (a > 2 ? log(a) * a : sin(a)) * a;
    }
    y[2] = x[0] * x[1];
}
