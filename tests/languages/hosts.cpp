template <class F> static double rule(F g, double a, double b, int n) {
    double s = 0, h = (b - a) / n;
    for (int i = 0; i < n; i++) s += h * (g(a + i * h) + g(a + (i + 1) * h)) / 2;
    return s;
}
extern "C" double trapezoid(double (*g)(double), double a, double b, int n) { return rule(g, a, b, n); }
