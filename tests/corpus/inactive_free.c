// Indices that a call without derivative releases: the reverse sweep must not read them there again.
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) static void destroy(int *order, int n) {
    memset(order, 0x55, n * sizeof *order);
    free(order);
}
double inactive_free(double *x, int n) {
    int *order = malloc(n * sizeof *order);
    double s = 0;
    for (int i = 0; i < n; i++) order[i] = (i * 5 + 2) % n;
    for (int i = 0; i < n; i++) s = s * x[order[i]] + x[i];
    destroy(order, n);
    return s;
}
