// What the iterations read is overwritten when the loop is done.
// y: 6
#include <math.h>
void fused_overwritten_later(double *restrict x, int n, double *restrict y) {
    for (int i = 0; i < n; i++) {
        double a = exp(x[i]);
        y[i] = (a > 2 ? log(a) * a : sin(a)) * x[i];
    }
    for (int i = 0; i < n; i++) x[i] = x[i] * x[i] + i;
}
