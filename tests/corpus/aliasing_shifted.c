// The second argument is the first, two elements on.
// alias: y = x + 2
void aliasing_shifted(double *x, int n, double *y, int m) {
    for (int i = 0; i < m; i++) y[i] = x[i] * x[i + 1] + y[i];
}
