// What is copied is read itself, too.
#include <stdlib.h>
#include <string.h>
double shared_not_read_twice(const double *x, int n) {
    double *w = malloc(n * sizeof *w), s = 0;
    memcpy(w, x, n * sizeof *w);
    for (int i = 0; i < n; i++) s += w[i] * x[0] * s + w[0] * x[i];
    free(w);
    return s;
}
