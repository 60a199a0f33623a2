// An exponent is put together in a union, used as a double, and the union is used again for an active one.
// k: 2
#include <stdint.h>
union bits { double d; int64_t i; };
double union_scale(double *x, int n, int k) {
    union bits u;
    double s = 0;
    u.d = x[0] * x[1];
    for (int i = 0; i < n; i++) {
        s += u.d * x[i];
        u.i = (int64_t)(1023 + k + i % 3) << 52;
        double scale = u.d;
        u.d = scale * x[i];
        s += u.d * scale;
        if (i == 3) u.i = 0x4000000000000000;
    }
    return s;
}
