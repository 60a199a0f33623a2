// The function called has loops and keeps values of its own on the tape.
#include <math.h>
static __attribute__((noinline)) double g(double *a, int n, double b) {
    double s = b;
    for (int i = 0; i < n; i++) {
        s = sin(s) + a[i];
        a[i] *= s;
    }
    return s;
}
double noinline_with_loop(double *x, int n) {
    double s = 1;
    for (int k = 0; k < 3; k++) s = g(x, n - k, s * x[k]);
    return s;
}
