// The adjoint of the sum depends on the sum.
// y: 6
// x: 18
// n: 3
#include <math.h>
double fused_sum_nonlinear(const double *restrict x, int n) {
    double total = 0;
    for (int i = 0; i < n; i++) {
        double inner = 1;
        for (int j = 0; j < 6; j++) inner *= exp(x[6 * i + j]);
        total += log(1 + inner);
    }
    return total * total;
}
