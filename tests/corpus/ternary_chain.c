// Selects instead of branches.
double ternary_chain(double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) {
        double v = x[i] > 1.0 ? x[i] * x[i] : x[i] > 0.7 ? 2 * x[i] - 0.1 : x[i] / 3;
        s += i & 1 ? v : -v * s;
    }
    return s;
}
