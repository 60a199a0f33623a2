// Every iteration writes the same place: the last one counts.
// y: 6
#include <math.h>
void fused_last_one_counts(const double *restrict x, int n, double *restrict y) {
    for (int i = 0; i < n; i++) {
        double a = exp(x[i]), r = a > 2 ? log(a) * a : sin(a);
        y[0] = r * r;
        y[i] = r * a;
    }
}
