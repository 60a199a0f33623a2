// A natural spline through active values: tridiagonal solve with local arrays.
double cubic_spline(double *x, int n) {
    double c[8], d[8], second[8];
    c[0] = d[0] = 0;
    for (int i = 1; i + 1 < n; i++) {
        double w = 4 - c[i - 1];
        c[i] = 1 / w;
        d[i] = (6 * (x[i + 1] - 2 * x[i] + x[i - 1]) - d[i - 1]) / w;
    }
    second[n - 1] = 0;
    for (int i = n - 2; i > 0; i--) second[i] = d[i] - c[i] * second[i + 1];
    second[0] = 0;
    double s = 0;
    for (int i = 0; i < n; i++) s += second[i] * second[i] * x[i];
    return s;
}
