// The sign is cleared with integer arithmetic on the bits.
#include <stdint.h>
#include <string.h>
double float_bit_tricks(double *x, int n) {
    double v = x[0] - 3.0;
    uint64_t bits;
    memcpy(&bits, &v, 8);
    bits &= 0x7fffffffffffffffULL;
    memcpy(&v, &bits, 8);
    return v * x[1];
}
