// What the iterations read, or wrote, is overwritten in the block that follows the loop.
// y: 6
#include <math.h>
double fused_cleared_at_once(double *restrict x, int n, double *restrict y) {
    double total = 0;
    for (int i = 0; i < n; i++) {
        double inner = 1;
        for (int j = 0; j < 3; j++) inner *= exp(x[i]) + j * x[1];
        total += log(inner);
    }
    x[2] = 3;
    for (int i = 0; i < n; i++) {
        double a = exp(x[i]);
        y[i] = (a > 2 ? log(a) * a : sin(a)) * a;
    }
    y[1] = x[0];
    return total;
}
