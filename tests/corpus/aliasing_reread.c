// A value is read again after a store that may have changed it.
// alias: y = x
double aliasing_reread(double *x, int n, double *y, int m) {
    double s = 0;
    for (int i = 0; i < n; i++) {
        s += x[i] * x[i];
        *y = s;
        s += x[0] * x[i];
    }
    return s;
}
