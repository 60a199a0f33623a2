// Indices in memory that grows: what was read before the move is not read again.
#include <stdlib.h>
double realloc_indices(double *x, int n) {
    int *order = malloc(sizeof *order);
    double s = 0;
    for (int i = 0; i < n; i++) {
        order = realloc(order, (i + 1) * sizeof *order);
        order[i] = (i * 5 + 2) % n;
        s = s * x[order[i]] + x[order[i / 2]];
    }
    free(order);
    return s;
}
