// Calls in a loop, the result carried on.
static __attribute__((noinline)) double g(double a, double b) { return a * b / (1 + a * a); }
double noinline_in_loop(double *x, int n) {
    double s = 0.5;
    for (int i = 0; i < 3 * n; i++) s = g(s, x[i % n]) + x[(i + 1) % n];
    return s;
}
