// Floats in integers of other sizes: two doubles in 128 bits, four floats, half words, an array of integers.
#include <stdint.h>
#include <string.h>
typedef unsigned __int128 wide;
static __attribute__((noinline)) wide turned(wide w) { return w >> 64 | w << 64; }
static __attribute__((noinline)) double low(wide w) {
    uint64_t u = (uint64_t)w;
    double d;
    memcpy(&d, &u, 8);
    return d;
}
struct words { uint64_t w[2]; };
static __attribute__((noinline)) struct words crossed(struct words a) { return (struct words){{a.w[1], a.w[0]}}; }
double register_integers(double *x, int n) {
    double s = 0;
    for (int i = 0; i + 1 < n; i++) {
        wide w;
        memcpy(&w, x + i, 16);
        s += low(turned(w)) * low(w) * x[0];
        struct words p;
        memcpy(&p, x + i, 16);
        p = crossed(p);
        double q[2];
        memcpy(q, &p, 16);
        s += q[0] * q[0] * q[1];
        memcpy(x + i, &p, 16);
    }
    return s;
}
