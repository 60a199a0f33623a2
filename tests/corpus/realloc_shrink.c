// Blocks that shrink, grow by one element at a time, and are asked for with reallocarray.
#define _GNU_SOURCE
#include <stdlib.h>
double realloc_shrink(double *x, int n) {
    double *a = malloc(8 * n), s = 0;
    for (int i = 0; i < n; i++) a[i] = x[i] * x[i];
    a = realloc(a, 8 * (n - 2));
    for (int i = n - 2; i < 2 * n; i++) {
        a = reallocarray(a, i + 1, sizeof *a);
        a[i] = a[i - 1] * x[i % n];
        a[0] += a[i];
    }
    for (int i = 0; i < 2 * n; i++) s += a[i] * a[2 * n - 1 - i];
    free(a);
    return s;
}
