// The adjoint of p[1] needs the sum and cannot wait: p[1] is loaded after the loop, and then written.
// p: 3
// x: 18
// n: 3
#include <math.h>
double fused_not_postponed(const double *restrict x, double *restrict p, int n) {
    double total = 0;
    for (int i = 0; i < n; i++) {
        double inner = 1;
        for (int j = 0; j < 6; j++) inner *= exp(x[6 * i + j]);
        total += log(1 + inner);
    }
    p[0] = 3 * sin(p[0]);
    double factor = sin(p[0]) * p[1];
    p[1] = 2;
    return total * factor + p[2];
}
