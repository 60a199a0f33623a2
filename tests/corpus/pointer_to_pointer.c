// A matrix as an array of row pointers on the heap.
#include <stdlib.h>
double pointer_to_pointer(double *x, int n) {
    double **rows = malloc(n * sizeof *rows), s = 0;
    for (int i = 0; i < n; i++) {
        rows[i] = malloc(n * sizeof **rows);
        for (int j = 0; j < n; j++) rows[i][j] = x[i] * x[j] + i;
    }
    double *t = rows[0];
    rows[0] = rows[n - 1];
    rows[n - 1] = t;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) s += rows[i][j] * rows[j][i];
    for (int i = 0; i < n; i++) free(rows[i]);
    free(rows);
    return s;
}
