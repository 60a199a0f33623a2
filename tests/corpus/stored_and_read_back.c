// Results that the program stores: some stay where they are, some are overwritten, in the same loop or later.
// x: 6 0.2 1
// n: 6
// y: 24
// m: 24
#include <math.h>
void stored_and_read_back(const double *x, int n, double *y, int m) {
    for (int i = 0; i < n; i++) y[i] = tanh(x[i]) * x[(i + 1) % n];
    for (int i = 0; i < n; i++) y[n + i] = exp(y[i]) / x[i];
    for (int i = 0; i < n; i++) y[n + i] = sqrt(y[n + i]) + y[i];
    for (int i = 0; i < n; i++) y[2 * n + i / 2] = cbrt(x[i] + y[i]);
    for (int i = 0; i + 1 < n; i++) y[3 * n + i + 1] = exp(-y[3 * n + i]), y[3 * n + i] *= x[i];
    double last = 0;
    for (int i = 0; i < n; i++) y[m - 1] = last = sin(x[i] + last);
    for (int i = 0; i < n; i++) y[i] += y[i] * y[2 * n + i];
}
