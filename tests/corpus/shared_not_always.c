// The copy is made under a condition, and read under it; otherwise there is nothing that could be copied.
#include <stdlib.h>
#include <string.h>
static __attribute__((noinline)) double sum(const double *x, int n, int given) {
    double *w = malloc(n * sizeof *w), s = 0;
    if (given) memcpy(w, x, n * sizeof *w);
    for (int i = 0; i < n; i++) s += given ? w[i] * w[i] : 1.0;
    free(w);
    return s;
}
double shared_not_always(const double *x, int n) { return sum(x, n, 1) * sum(0, 1000000, 0); }
