// A stencil in two dimensions, an element that all iterations read, and one that indices choose; few floats in a row.
// x: 20
// n: 4
// m: 5
// y: 20
// k: 5 values 3 0 4 1 1
void collected_rows(const double *restrict x, int n, int m, const int *restrict k, double *restrict y) {
    for (int i = 1; i + 1 < n; i++)
        for (int j = 1; j + 1 < m; j++)
            y[i * m + j] = x[i * m + j - 1] * x[i * m + j + 1] + x[(i - 1) * m + j] * x[(i + 1) * m + j] * x[0]
                         + x[k[j]] * x[i * m + j];
}
