// What is thrown says where to go on; a handler around a loop.
struct stop { int at; };
static __attribute__((noinline)) double step(double s, double x, int i) {
    if (i == 3) throw stop{i};
    return s * x + 1;
}
extern "C" double cpp_throw_index(double *x, int n) {
    double s = 1;
    int from = 0;
    for (int tries = 0; tries < 3; tries++) {
        try {
            for (int i = from; i < n; i++) s = step(s, x[i], i);
            from = n;
        } catch (const stop &e) {
            from = e.at + 1;
            s = 0.5 * s * x[e.at];
        }
    }
    return s;
}
