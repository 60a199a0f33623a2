// The adjoint of a sum is known before its loop: returned as it is, and used once more, linearly.
// y: 6
// x: 18
// n: 3
#include <math.h>
double fused_sum_returned(const double *restrict x, int n, double *restrict y) {
    double total = 0;
    for (int i = 0; i < n; i++) {
        double most = 0;
        for (int j = 0; j < 6; j++) most += exp(x[6 * i + j]) * sin(x[6 * i]);
        if (most > 4) total += log(most);
        total -= tanh(most);
    }
    *y = 3 * total + x[0];
    return total;
}
