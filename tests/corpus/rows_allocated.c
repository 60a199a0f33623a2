// An array of rows: each allocated by a wrapper, rows exchanged, one replaced by a longer one.
#include <stdlib.h>
static __attribute__((noinline)) void *need(size_t size) {
    void *p = malloc(size);
    if (!p) abort();
    return p;
}
static double **matrix(int n, int m) {
    double **a = need(n * sizeof *a);
    for (int i = 0; i < n; i++) a[i] = need(m * sizeof **a);
    return a;
}
static void release(double **a, int n) {
    for (int i = 0; i < n; i++) free(a[i]);
    free(a);
}
double rows_allocated(double *x, int n) {
    double **a = matrix(4, n), s = 0;
    int *pivot = need(4 * sizeof *pivot);
    for (int i = 0; i < 4; i++) {
        pivot[i] = 3 - i;
        for (int j = 0; j < n; j++) a[i][j] = x[j] * (i + 1) + x[(i + j) % n];
    }
    for (int i = 0; i < 2; i++) {
        double *t = a[i];
        a[i] = a[pivot[i]];
        a[pivot[i]] = t;
    }
    a[2] = realloc(a[2], 2 * n * sizeof(double));
    for (int j = n; j < 2 * n; j++) a[2][j] = a[2][j - n] * a[0][j - n];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < n; j++) s += a[i][j] * a[(i + 1) % 4][j];
    s += a[2][2 * n - 1];
    release(a, 4);
    free(pivot);
    return s;
}
