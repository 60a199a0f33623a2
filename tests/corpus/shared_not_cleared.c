// Zeros are read where nothing was copied.
#include <stdlib.h>
#include <string.h>
static __attribute__((noinline)) double sum(const double *x, int n, int given) {
    double *w = calloc(n, sizeof *w), s = 0;
    if (given) memcpy(w, x, n * sizeof *w);
    for (int i = 0; i < n; i++) s += w[i] * w[i] + 3 * w[i];
    free(w);
    return s;
}
double shared_not_cleared(const double *x, int n) { return sum(x, n, 1) * (1 + sum(x, n, 0)); }
