// Doubles in an array that is declared to hold integers, swapped there.
#include <string.h>
static __attribute__((noinline)) void swap(long *b) { long t = b[0]; b[0] = b[1]; b[1] = t; }
double swapped_as_integers(double *x, int n) {
    long b[2];
    double t[2], s = 0;
    for (int i = 0; i + 1 < n; i++) {
        memcpy(b, x + i, 16);
        swap(b);
        memcpy(t, b, 16);
        s += t[0] * t[0] * t[1];
    }
    return s;
}
