// An allocation that fails ends the program.
#include <stdlib.h>
#include <string.h>
static double *ours(long n) {
    double *w = malloc(n * sizeof *w);
    if (!w) abort();
    return w;
}
double shared_unless_it_fails(const double *x, int n) {
    double *w = ours(n), s = 0;
    memcpy(w, x, n * sizeof *w);
    for (int i = 0; i < n; i++) s += w[i] * w[n - 1 - i] * w[1];
    free(w);
    return s;
}
