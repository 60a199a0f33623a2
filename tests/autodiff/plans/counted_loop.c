// dco 1
// The product before each factor is kept: one column.
double f(const double *x, int n) {
    double s = 1;
    for (int i = 0; i < n; i++) s *= x[i] + s;
    return s;
}
