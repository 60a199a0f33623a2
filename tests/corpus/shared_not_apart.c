// Of two arguments that are one array, one is copied and the other read.
// alias: y = x
#include <stdlib.h>
#include <string.h>
double shared_not_apart(const double *x, int n, const double *y, int m) {
    double *w = malloc(n * sizeof *w), s = 0;
    memcpy(w, x, n * sizeof *w);
    for (int i = 0; i < m; i++) s += w[i] * y[0] * s + w[0] * y[i];
    free(w);
    return s;
}
