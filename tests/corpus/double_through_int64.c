// A double is carried through an integer of the same size by memcpy.
#include <stdint.h>
#include <string.h>
double double_through_int64(double *x, int n) {
    int64_t bits[8];
    double s = 0, v;
    for (int i = 0; i < n; i++) memcpy(&bits[i], &x[i], 8);
    for (int i = 0; i < n; i++) {
        memcpy(&v, &bits[n - 1 - i], 8);
        s += v * v * x[i];
    }
    return s;
}
