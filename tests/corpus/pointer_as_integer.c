// A pointer rounded up to a multiple of 32 by integer arithmetic.
#include <stdint.h>
double pointer_as_integer(double *x, int n) {
    double buffer[16];
    double *a = (double *)(((uintptr_t)buffer + 31) & ~(uintptr_t)31), s = 0;
    for (int i = 0; i < n; i++) a[i] = x[i] * x[i];
    for (int i = 0; i < n; i++) s += a[i] * x[n - 1 - i];
    return s;
}
