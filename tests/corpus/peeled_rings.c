// Rings of 1, 2, 3, 4 and all points: the first and the last iteration have other neighbours; each may be both.
// x: 30
// n: 30
// y: 30
static __attribute__((noinline)) void peeled_ring(int n, const double *restrict u, double *restrict v) {
    for (int i = 0; i < n; i++) {
        int left = i ? i - 1 : n - 1, right = i + 1 < n ? i + 1 : 0;
        v[i] += u[i] * u[i] + u[left] - u[left] * u[right] + 0.5 * u[right];
    }
}
double peeled_rings(double *restrict x, int n, double *restrict y) {
    for (int k = 1; k < 5; k++) peeled_ring(k, x, y);
    peeled_ring(n, x, y);
    double sum = 0;
    for (int i = 0; i < n; i++) sum += y[i] * x[i];
    return sum;
}
