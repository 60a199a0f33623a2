// Bytes of floats moved one by one through functions, or by shifts; each function is the sum of the squares of its numbers.
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) static void put(char *b, int at, char c) { b[at] = c; }
__attribute__((noinline)) static char get(const char *b, int at) { return b[at]; }
double through_functions(const double *x, int n) {
    char *b = malloc(8 * n), t[8];
    double s = 0, d;
    for (int i = 0; i < n; i++) {
        memcpy(t, &x[i], 8);
        for (int k = 0; k < 8; k++) put(b, 8 * i + k, t[k]);
    }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 8; k++) t[k] = get(b, 8 * i + k);
        memcpy(&d, t, 8);
        s += d * d;
    }
    free(b);
    return s;
}
double by_shifts(const double *x, int n) {
    char *b = malloc(8 * n);
    double s = 0, d;
    for (int i = 0; i < n; i++) {
        unsigned long u;
        memcpy(&u, &x[i], 8);
        for (int k = 0; k < 8; k++) b[8 * i + k] = (char)(u >> (8 * k));
    }
    for (int i = 0; i < n; i++) {
        unsigned long u = 0;
        for (int k = 0; k < 8; k++) u |= (unsigned long)(unsigned char)b[8 * i + k] << (8 * k);
        memcpy(&d, &u, 8);
        s += d * d;
    }
    free(b);
    return s;
}
double swapped(const double *x, int n) {
    unsigned long w[8];
    double s = 0, d;
    for (int i = 0; i < n; i++) {
        unsigned long u;
        memcpy(&u, &x[i], 8);
        w[i] = __builtin_bswap64(u);
    }
    for (int i = 0; i < n; i++) {
        unsigned long u = __builtin_bswap64(w[i]);
        memcpy(&d, &u, 8);
        s += d * d;
    }
    return s;
}
double masked(const double *x, int n) {
    unsigned long w[8];
    double s = 0, d;
    for (int i = 0; i < n; i++) {
        unsigned long u;
        memcpy(&u, &x[i], 8);
        w[i] = u ^ 0x5555555555555555ul;
    }
    for (int i = 0; i < n; i++) {
        unsigned long u = w[i] ^ 0x5555555555555555ul;
        memcpy(&d, &u, 8);
        s += d * d;
    }
    return s;
}
struct entry { double v; long k; };
static double unpacked(const char *b) {
    unsigned long u = 0;
    double d;
    for (int k = 0; k < 8; k++) u |= (unsigned long)(unsigned char)b[k] << (8 * k);
    memcpy(&d, &u, 8);
    return d;
}
static void pack(char *b, unsigned long u) {
    for (int k = 0; k < 8; k++) b[k] = (char)(u >> (8 * k));
}
double out_of_structs(const double *x, int n) {
    struct entry e[8];
    char b[64];
    double s = 0;
    for (int i = 0; i < n; i++) {
        memcpy(&e[i].v, &x[i], 8);
        e[i].k = i;
    }
    for (int i = 0; i < n; i++) {
        unsigned long u;
        memcpy(&u, &e[i].v, 8);
        pack(b + 8 * i, u);
    }
    for (int i = 0; i < n; i++) {
        double d = unpacked(b + 8 * i);
        s += d * d;
    }
    return s;
}
