// The adjoints of p need what the loops compute, those of the sums need p only. The second loop does not run.
// y: 1
// x: 18
// p: 4
// n: 3
// m: 0
// k: 6
#include <math.h>
double fused_postponed(const double *restrict x, const double *restrict p, int n, int m, int k, double *restrict y) {
    double total = 0, other = 0, scale = sqrt(1 + p[0] * p[0]);
    for (int i = 0; i < n; i++) {
        double inner = 1;
        for (int j = 0; j < k; j++) inner *= exp(0.3 * scale * x[k * i + j]);
        total += sqrt(inner) * sin(inner);
    }
    for (int i = 0; i < m; i++) {
        double inner = 1;
        for (int j = 0; j < k; j++) inner *= exp(0.3 * x[k * i + j]);
        other += sqrt(inner);
    }
    *y = exp(-p[1] * sin(p[2])) * total / n;
    return other / (1 + p[3] * p[3]) - n * log(2 + p[3] * scale) + scale;
}
