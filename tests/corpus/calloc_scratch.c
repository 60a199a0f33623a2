// Zeroed heap memory that is accumulated into.
#include <stdlib.h>
double calloc_scratch(double *x, int n) {
    double *bins = calloc(3, sizeof *bins), s = 0;
    for (int i = 0; i < n; i++) bins[i % 3] += x[i] * x[i];
    for (int i = 0; i < 3; i++) s += bins[i] * bins[(i + 1) % 3];
    free(bins);
    return s;
}
