// A stencil in two dimensions that stays at its borders, on a part of a grid: neighbours are summed, and one is not.
// x: 42
// n: 6
// m: 7
// y: 42
// from: 2
static __attribute__((noinline)) void peeled_step(long n, long m, long from, const double *restrict u, double *restrict v) {
    for (long i = 0; i < n; i++)
        for (long j = from; j < m; j++) {
            const double *row = u + i * m;
            double left = row[j == from ? j : j - 1], right = row[j == m - 1 ? j : j + 1];
            double up = u[(i > 0 ? i - 1 : i) * m + j], down = u[(i < n - 1 ? i + 1 : i) * m + j];
            v[i * m + j] = row[j] + 0.1 * (left + right + up + down - 4 * row[j]) + left * row[j];
        }
}
void peeled_clamped(double *restrict x, int n, int m, double *restrict y, int from) {
    peeled_step(n, m, from, x, y);
    peeled_step(n, m, 0, y, x);
}
