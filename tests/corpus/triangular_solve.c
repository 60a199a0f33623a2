// Forward substitution.
// a: 16 0.5 1.5
// x: 4
// n: 4
void triangular_solve(const double *a, double *x, int n) {
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) x[i] -= a[i * n + j] * x[j];
        x[i] /= a[i * n + i];
    }
}
