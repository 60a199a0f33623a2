// An iteration until the value stands still, with local vectors.
// x: 9 0.2 1.0
// n: 3
// tolerance: 1e-6
#include <math.h>
double power_iteration(const double *x, int n) {
    double v[8], w[8], value = 0, last = 1;
    for (int i = 0; i < n; i++) v[i] = 1;
    while (fabs(value - last) > 1e-14) {
        double norm = 0;
        last = value;
        for (int i = 0; i < n; i++) {
            w[i] = 0;
            for (int j = 0; j < n; j++) w[i] += x[i * n + j] * v[j];
            norm += w[i] * w[i];
        }
        norm = sqrt(norm);
        value = 0;
        for (int i = 0; i < n; i++) {
            value += v[i] * w[i];
            v[i] = w[i] / norm;
        }
    }
    return value;
}
