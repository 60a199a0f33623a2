// A call whose result is only an index.
static __attribute__((noinline)) int pick(const double *x, int n, double bound) {
    for (int i = 0; i < n; i++)
        if (x[i] > bound) return i;
    return 0;
}
double noinline_inactive_result(double *x, int n) { return x[pick(x, n, 0.5)] * x[pick(x, n, 0.9)]; }
