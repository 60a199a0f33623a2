// What looks like a sum is used in the loop, too.
// y: 6
// x: 18
// n: 3
#include <math.h>
double fused_sum_used_inside(const double *restrict x, int n, double *restrict y) {
    double total = 0;
    for (int i = 0; i < n; i++) {
        double inner = 1;
        for (int j = 0; j < 6; j++) inner *= exp(0.3 * x[6 * i + j]);
        total += log(1 + inner);
        y[i] = total * inner;
    }
    return total;
}
