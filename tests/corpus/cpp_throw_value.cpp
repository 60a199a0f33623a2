// An active value that is thrown and caught.
static __attribute__((noinline)) double check(double x) {
    if (x > 0.8) throw x * x;
    return x;
}
extern "C" double cpp_throw_value(double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) {
        try {
            s += check(x[i]);
        } catch (double v) {
            s += 3 * v;
        }
    }
    return s;
}
