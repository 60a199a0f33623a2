// A handler of a function that writes what it is given before it throws.
static __attribute__((noinline)) void write(double *y, double x, int i) {
    y[i] = x * x;
    if (i == 2) throw 1;
    y[i] *= x;
}
extern "C" double cpp_catch_writes(double *x, int n) {
    double y[8] = {0}, s = 0;
    for (int i = 0; i < n; i++) {
        try {
            write(y, x[i], i);
        } catch (int) {
            s += x[i];
        }
    }
    for (int i = 0; i < n; i++) s += y[i];
    return s;
}
