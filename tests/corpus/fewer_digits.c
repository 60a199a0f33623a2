// Squares without their rounding error, by heads of fewer digits as in fdlibm; whole parts by the bits of the exponent.
#include <math.h>
#include <stdint.h>
#include <string.h>
static double head(double x) {
    uint64_t bits;
    memcpy(&bits, &x, 8);
    bits &= 0xffffffff00000000u;
    memcpy(&x, &bits, 8);
    return x;
}
static double whole(double x) {
    uint64_t bits;
    memcpy(&bits, &x, 8);
    int e = (int)(bits >> 52 & 0x7ff) - 0x3ff;
    if (e < 0) return 0;
    if (e >= 52) return x;
    bits &= ~(0x000fffffffffffffu >> e);
    memcpy(&x, &bits, 8);
    return x;
}
static float whole_float(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    int e = (int)(bits >> 23 & 0xff) - 127;
    if (e < 0 || e >= 23) return e < 0 ? 0 : x;
    bits &= ~(0x007fffffu >> e);
    memcpy(&x, &bits, 4);
    return x;
}
void fewer_digits(double *x, int n, double *y, int m) {
    double z = head(x[0]), w = head(x[1] * x[2]);
    y[0] = exp(-z * z) * exp((z - x[0]) * (z + x[0])) * x[1];
    y[1] = w + (x[1] * x[2] - w);
    y[2] = x[3] * 9.3 - whole(x[3] * 9.3) + x[4] * whole(-21.7 * x[4]) + whole(x[5] * 0.1);
    y[3] = x[4] * (double)whole_float((float)(x[5] * 17.9)) + x[0] * whole(1e17);
}
