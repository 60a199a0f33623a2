// What the iterations write is read when the loop is done.
// y: 6
#include <math.h>
double fused_read_later(const double *restrict x, int n, double *restrict y) {
    for (int i = 0; i < n; i++) {
        double a = exp(x[i]);
        y[i] = (a > 2 ? log(a) * a : sin(a)) * a;
    }
    return y[1] * y[2];
}
