// The copy is copied on into what is changed.
#include <stdlib.h>
#include <string.h>
double shared_not_handed_on(const double *x, int n) {
    double *w = malloc(n * sizeof *w), v[64], s = 0;
    memcpy(w, x, n * sizeof *w);
    memcpy(v, w, n * sizeof *w);
    for (int i = 1; i < n; i++) v[i] *= v[i - 1];
    for (int i = 0; i < n; i++) s += w[i] * v[n - 1 - i];
    free(w);
    return s;
}
