// Each iteration by itself, with a branch: what it keeps need not outlive it.
// y: 6
#include <math.h>
void fused_map(const double *restrict x, int n, double *restrict y) {
    for (int i = 0; i < n; i++) {
        double e = exp(x[i]), s = e > 2 ? sqrt(e) * sin(e) : e / (1 + x[i] * x[i]);
        y[i] = s * s + tanh(s);
    }
}
