// One pool of bytes holds doubles, integers and floats, in places that are used for one after the other.
#include <stdint.h>
#include <string.h>
static void *take(char *pool, int *used, int bytes) { void *p = pool + *used; *used += bytes; return p; }
double pool_of_cells(double *x, int n) {
    _Alignas(16) char pool[64];
    double s = 0;
    for (int i = 0; i + 1 < n; i++) {
        int used = 0;
        double *a = take(pool, &used, 8);
        int64_t *k = take(pool, &used, 8);
        float *f = take(pool, &used, 4);
        *a = x[i] * x[i];
        *k = i + 1;
        *f = 0.5f;
        s += *a * (double)*k * (double)*f;
        used = 0;
        int64_t *j = take(pool, &used, 8);
        double *b = take(pool, &used, 8);
        *j = 2 * i;
        *b = x[i + 1] * s;
        s += *b * (double)(*j + 1) * 0.1;
    }
    return s;
}
