// The same function called with active and with constant data.
static __attribute__((noinline)) double dot(const double *a, const double *b, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}
static const double table[6] = {1, 2, 3, 4, 5, 6};
double noinline_constant_argument(double *x, int n) {
    return dot(x, table, n) * dot(table, table, n) * 0.01 + dot(x, x, n) * dot(table, x, 2);
}
