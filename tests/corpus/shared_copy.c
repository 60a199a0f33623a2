// What is copied whole and then only read there.
#include <stdlib.h>
#include <string.h>
double shared_copy(const double *x, int n) {
    double *w = malloc(n * sizeof *w), s = 0;
    memcpy(w, x, n * sizeof *w);
    for (int i = 0; i < n; i++) s += w[i] * w[n - 1 - i] * w[0];
    free(w);
    return s * s;
}
