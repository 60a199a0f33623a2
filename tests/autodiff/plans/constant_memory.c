// ddco 1
// Nothing writes x: its elements are loaded again.
double f(const double *restrict x, double *restrict y, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) {
        s += x[i] * x[i];
        y[i] = 2 * x[i];
    }
    return s;
}
