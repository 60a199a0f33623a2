// Arrays that an iteration fills but for one element, or under a condition: the rest is from the iteration before.
// x: 18
// n: 3
// m: 6
// y: 6
#include <math.h>
#include <stdlib.h>
double fused_not_filled(const double *restrict x, int n, int m, const double *restrict y) {
    double *a = calloc(m, sizeof *a), *b = calloc(m, sizeof *b), total = 0, other = 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j + 1 < m; j++) a[j] = exp(x[m * i + j] - y[j]) + 0.5 * a[j + 1];
        a[m - 1] += x[m * i];
        double s = 0;
        for (int j = 0; j < m; j++) s += sin(a[j]) * a[j];
        total += s;
    }
    for (int i = 0; i < n; i++) {
        if (x[m * i] > 0.8) for (int j = 0; j < m; j++) b[j] = exp(x[m * i + j] - y[j]);
        double s = 0;
        for (int j = 0; j < m; j++) s += sin(b[j]) * b[j];
        other += s;
    }
    free(b);
    free(a);
    return total - other;
}
