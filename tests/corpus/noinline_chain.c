// Calls of calls, each with memory of its own.
static __attribute__((noinline)) double third(double *t) { t[1] *= t[0]; return t[1] * t[1]; }
static __attribute__((noinline)) double second(double a) {
    double t[2] = {a, a + 1};
    return third(t) * t[1];
}
static __attribute__((noinline)) double first(const double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += second(x[i]) * 0.1;
    return s;
}
double noinline_chain(double *x, int n) { return first(x, n) * first(x + 1, n - 1); }
