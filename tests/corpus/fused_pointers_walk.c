// Addresses go from iteration to iteration; a sum starts at an input and skips some.
// x: 12
// y: 12
#include <math.h>
double fused_pointers_walk(const double *restrict x, int n, double *restrict y) {
    double total = x[0];
    const double *p = x;
    for (int i = 0; i < n; i++, p += 2, y += 2) {
        double inner = 0;
        for (int j = 0; j < 2; j++) inner += exp(p[j]) * sin(p[0]);
        y[0] = inner * inner;
        y[1] = sqrt(inner);
        if (inner > 2) total += tanh(inner);
    }
    return total;
}
