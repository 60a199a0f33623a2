// Two floats in one 64-bit word: taken apart, put together, swapped, by shifts and masks.
#include <stdint.h>
#include <string.h>
static float half(uint64_t w, int high) {
    uint32_t u = high ? w >> 32 : w & 0xFFFFFFFFu;
    float f;
    memcpy(&f, &u, 4);
    return f;
}
static uint64_t word(float low, float high) {
    uint32_t a, b;
    memcpy(&a, &low, 4);
    memcpy(&b, &high, 4);
    return a | (uint64_t)b << 32;
}
float word_halves(float *x, int n) {
    float s = 0;
    for (int i = 0; i + 1 < n; i += 2) {
        uint64_t v;
        memcpy(&v, x + i, 8);
        v = v << 32 | v >> 32;
        float a = half(v, 0), b = half(v, 1);
        s += a * a * b;
        v = (v & 0xFFFFFFFF00000000u) | (word(b * s, a) & 0xFFFFFFFFu);
        memcpy(x + i, &v, 8);
    }
    return s;
}
