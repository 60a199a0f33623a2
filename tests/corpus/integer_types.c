// Integers of many widths converted to floats.
#include <stdint.h>
double integer_types(double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) {
        int8_t a = (int8_t)(100 + 60 * i);
        uint16_t b = (uint16_t)(i * 9000);
        int64_t c = (int64_t)i << 40;
        uint64_t d = ~(uint64_t)0 >> (i + 30);
        s += x[i] * a + x[(i + 1) % n] * b * 1e-3 + x[0] * (double)c * 1e-12 + x[1] * (double)d * 1e-10;
    }
    return s;
}
