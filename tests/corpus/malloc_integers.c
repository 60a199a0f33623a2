// Heap memory that holds indices.
#include <stdlib.h>
double malloc_integers(double *x, int n) {
    int *order = malloc(n * sizeof *order);
    double s = 0;
    for (int i = 0; i < n; i++) order[i] = (i * 5 + 2) % n;
    for (int i = 0; i < n; i++) s = s * x[order[i]] + x[i];
    free(order);
    return s;
}
