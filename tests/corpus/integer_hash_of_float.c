// The bits of a float decide a branch only.
// no finite differences
#include <stdint.h>
#include <string.h>
double integer_hash_of_float(double *x, int n) {
    uint64_t bits;
    memcpy(&bits, &x[0], 8);
    return (bits * 0x9E3779B97F4A7C15ULL) >> 63 ? x[0] * x[1] : x[0] + x[1];
}
