// Functions that return pointers into their arguments.
static __attribute__((noinline)) double *larger(double *a, double *b) { return *a > *b ? a : b; }
double noinline_returns_pointer(double *x, int n) {
    double *p = x;
    for (int i = 1; i < n; i++) p = larger(p, x + i);
    *p *= x[0];
    return *p * *larger(x + 1, x + 2);
}
