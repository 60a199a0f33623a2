// Freed on one of two ways.
#include <stdlib.h>
double free_in_branch(double *x, int n) {
    double *a = malloc(n * sizeof *a);
    for (int i = 0; i < n; i++) a[i] = x[i] * x[0];
    if (a[1] > 5.0) {
        free(a);
        return x[1];
    }
    double s = a[0] * a[1] * a[2];
    free(a);
    return s;
}
