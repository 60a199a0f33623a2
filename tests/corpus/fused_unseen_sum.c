// A sum that nobody looks at is not computed: its loop is fused, unless adjoints are collected there.
// x: 16
// n: 15
#include <math.h>
double fused_unseen_sum(const double *restrict x, int n) {
    double total = 0, rough = 0;
    for (int i = 0; i < n; i++) {
        double p = 1 / (1 + exp(-x[i] * x[n]));
        total -= log(p) + 0.1 * sqrt(p + 1);
    }
    for (int i = 0; i < n - 5; i++) rough += sqrt(1 + x[i] * x[i + 2] * x[i + 5]);
    return total + 0.5 * rough;
}
