// Neighbours on a ring: several iterations add to one adjoint. Steps in turns between two arrays.
// x: 300
// n: 300
// y: 300
static __attribute__((noinline)) void collected_step(int n, const double *restrict u, double *restrict v, double k) {
    for (int i = 0; i < n; i++) {
        int left = i ? i - 1 : n - 1, right = i + 1 < n ? i + 1 : 0;
        v[i] = u[i] * u[i] * k + 0.25 * (u[left] * u[right] - 2 * u[i]);
    }
}
double collected_stencil(double *restrict x, int n, double *restrict y) {
    double sum = 0;
    for (int t = 0; t < 2; t++) {
        collected_step(n, x, y, 0.5);
        collected_step(n, y, x, 0.3 + 0.1 * t);
    }
    for (int i = 0; i < n; i += 50) sum += x[i];
    return sum;
}
