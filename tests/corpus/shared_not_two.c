// Two copies of the same.
#include <stdlib.h>
#include <string.h>
double shared_not_two(const double *x, int n) {
    double *w = malloc(n * sizeof *w), *v = malloc(n * sizeof *v), s = 0;
    memcpy(w, x, n * sizeof *w);
    memcpy(v, x, n * sizeof *v);
    for (int i = 0; i < n; i++) s += w[i] * v[0] * s + w[0] * v[i];
    free(w), free(v);
    return s;
}
