// The two arguments are the same array.
// alias: y = x
void aliasing_arguments(double *x, int n, double *y, int m) {
    for (int i = 0; i + 1 < n; i++) y[i + 1] = x[i] * y[i] + x[i + 1];
    y[0] = x[n - 1] * x[1];
}
