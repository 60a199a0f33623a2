// A dot product of two read-only arrays.
double dot_product(const double *restrict x, const double *restrict w, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += x[i] * w[i];
    return s;
}
