// The sum is stored in one of two branches, and may be skipped; the loop may not run.
// y: 6
// x: 18
// n: 3
// m: 0
#include <math.h>
double fused_late_branch(const double *restrict x, int n, int m, double *restrict y, double *restrict z) {
    double total = 0, other = 0;
    for (int i = 0; i < n; i++) {
        double inner = 1;
        for (int j = 0; j < 6; j++) inner *= exp(0.3 * x[6 * i + j]);
        total += sqrt(inner) * sin(inner);
    }
    for (int i = 0; i < m; i++) {
        double inner = 1;
        for (int j = 0; j < 6; j++) inner *= exp(0.3 * x[6 * i + j]);
        other += sqrt(inner);
    }
    if (x[2] > 0) *y = total + other;
    else *z = 2 * total;
    if (x[3] > 5) total = x[3];
    return x[0] - total + other;
}
