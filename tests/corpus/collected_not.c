// What one iteration writes the next ones read: no adjoint may wait.
// y: 6
void collected_not(double *x, int n, double *restrict y) {
    for (int i = 2; i < n; i++) {
        x[i] = x[i] * x[i - 1] + 0.5 * x[i - 2];
        y[i] = x[i] * x[0];
    }
}
