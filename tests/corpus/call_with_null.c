// A function that may be given no pointer.
static __attribute__((noinline)) double norm(const double *x, int n, double *gradient) {
    double s = 0;
    for (int i = 0; i < n; i++) {
        s += x[i] * x[i] * x[i];
        if (gradient) gradient[i] = 3 * x[i] * x[i];
    }
    return s;
}
double call_with_null(double *x, int n) {
    double g[6];
    double a = norm(x, n, g), b = norm(g, n, 0);
    return a * b * g[1];
}
