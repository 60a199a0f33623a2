// The same code with two arrays.
// m: 6
void aliasing_not_aliased(double *x, int n, double *y, int m) {
    for (int i = 0; i + 1 < n; i++) y[i + 1] = x[i] * y[i] + x[i + 1];
    y[0] = x[n - 1] * x[1];
}
