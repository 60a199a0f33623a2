// A union that holds a double at one time and integers at another.
// k: 1
#include <stdint.h>
union cell { double d; int64_t i; int32_t h[2]; };
double union_overlay(double *x, int n, int k) {
    union cell u;
    double s = 0;
    for (int i = 0; i < n; i++) {
        if ((i + k) % 2) {
            u.d = x[i] * x[i];
            s += u.d;
        } else {
            u.i = i * 3;
            s += x[i] * (double)u.i;
        }
    }
    return s;
}
