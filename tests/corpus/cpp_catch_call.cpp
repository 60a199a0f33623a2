// Exceptions of functions that are not inlined, caught in a loop: the value, or a substitute.
struct large { int why; };
static __attribute__((noinline)) double careful(double x, int i) {
    if (i % 3 == 1) throw i;
    if (x > 1.2) throw large{i};
    return x * x * x;
}
static __attribute__((noinline)) double nested(const double *x, int i, int n) {
    try {
        return careful(x[i], i) * x[(i + 1) % n];
    } catch (const large &l) {
        return 0.5 * x[l.why % 2];
    }
}
extern "C" double cpp_catch_call(double *x, int n) {
    double sum = 1;
    for (int i = 0; i < n; i++) {
        double kept = sum;
        try {
            sum *= 1 + nested(x, i, n);
            kept = sum * x[i];
        } catch (int code) {
            sum += code * x[i] * kept;
        }
        sum = 0.5 * sum + kept * x[(i + 2) % n];
    }
    return sum;
}
