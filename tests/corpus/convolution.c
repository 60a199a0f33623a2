// A convolution with clipped inner bounds.
// y: 9
// m: 9
void convolution(const double *x, int n, double *y, int m) {
    for (int i = 0; i < m; i++) {
        int lo = i - 3 > 0 ? i - 3 : 0, hi = i < n - 1 ? i : n - 1;
        for (int j = lo; j <= hi; j++) y[i] += x[j] * x[(i - j) % n];
    }
}
