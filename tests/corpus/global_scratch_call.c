// A mutable global through which two functions that are not inlined speak.
double shared_value;
static __attribute__((noinline)) void put(double v) { shared_value = v * v; }
static __attribute__((noinline)) double get(double w) { return shared_value * w; }
double global_scratch_call(double *x, int n) {
    double s = 0;
    for (int i = 0; i + 1 < n; i++) {
        put(x[i] + s);
        s += get(x[i + 1]);
    }
    shared_value = 0;
    return s;
}
