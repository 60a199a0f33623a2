// Long doubles that must be kept on the tape, in arrays and in loops.
#include <math.h>
double long_double_kept(double *x, int n) {
    long double a[4] = {1, 0.5L, 0.25L, 2}, s = 0;
    for (int i = 0; i < 3 * n; i++) {
        a[i % 4] = sinl(a[(i + 1) % 4] * x[i % n]) + a[i % 4] * 0.5L;
        s += a[i % 4] * a[(i + 2) % 4];
    }
    return (double)s;
}
