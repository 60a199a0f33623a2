// dco 1
// The counter, and all addresses computed from it, are computed again from the iteration's number.
double f(const double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += x[3 * i + 1] * x[i];
    return s;
}
