// The loop may end early.
// y: 6
#include <math.h>
double fused_breaks(const double *restrict x, int n, double *restrict y) {
    double total = 0;
    for (int i = 0; i < n; i++) {
        double a = exp(x[i]);
        if (a > 3) break;
        y[i] = sqrt(a) * sin(a);
        for (int j = 0; j < 3; j++) total += sin(a * j) * exp(a);
    }
    return total;
}
