// A recursive function with a loop of unknown length.
static double g(const double *x, double v, int depth) {
    double s = v;
    int i = 0;
    while (s < 3.0 + depth) s += 0.05 * x[i++ % 6] * s + 0.01;
    if (depth == 0) return s;
    return s + g(x, v * 0.5, depth - 1) * x[depth] + g(x, v * 0.8, depth - 1);
}
double chunks_in_recursion(double *x, int n) { return g(x, x[0], 3); }
