// The copy is changed, at one place, after it has been read.
#include <stdlib.h>
#include <string.h>
double shared_not_changed(const double *x, int n) {
    double *w = malloc(n * sizeof *w), s = 0;
    memcpy(w, x, n * sizeof *w);
    for (int i = 0; i < n; i++) s += w[i] * w[i];
    w[2] = s * w[1];
    for (int i = 0; i < n; i++) s += w[i] * w[n - 1 - i];
    free(w);
    return s;
}
