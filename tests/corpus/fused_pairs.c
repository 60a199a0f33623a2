// Two outputs an iteration, of the inputs that indices choose; a second loop over the same inputs.
// y: 12
// k: 6 values 3 0 5 1 1 4
#include <math.h>
void fused_pairs(const double *restrict x, int n, const int *restrict k, double *restrict y, double *restrict z) {
    for (int i = 0; i < n; i++) {
        double a = x[k[i]], r = hypot(a, x[i]);
        if (r > 1) r = log(r) + 1;
        y[2 * i] = a / r;
        y[2 * i + 1] = cos(a * r);
    }
    for (int i = 0; i < n; i++) {
        double a = exp(x[i]);
        z[i] = (a > 2 ? sqrt(a) : a) * sin(a);
    }
}
