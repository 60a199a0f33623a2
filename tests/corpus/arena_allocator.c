// An allocator of one's own: doubles and ints cut from one static buffer of bytes.
#include <stddef.h>
static _Alignas(16) char pool[512];
static size_t used;
static void *take(size_t bytes) {
    void *p = pool + used;
    used += (bytes + 15) & ~(size_t)15;
    return p;
}
double arena_allocator(double *x, int n) {
    used = 0;
    double *a = take(n * sizeof *a), *b = take(n * sizeof *b), s = 0;
    for (int i = 0; i < n; i++) {
        a[i] = x[i] * x[i];
        b[i] = a[i] + x[0];
    }
    for (int i = 0; i < n; i++) s += a[i] * b[n - 1 - i];
    return s;
}
