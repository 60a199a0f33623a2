// Heap scratch for one call.
#include <stdlib.h>
double malloc_scratch(double *x, int n) {
    double *a = malloc(n * sizeof *a), s = 0;
    for (int i = 0; i < n; i++) a[i] = x[i] * x[i];
    for (int i = 1; i < n; i++) a[i] *= a[i - 1];
    for (int i = 0; i < n; i++) s += a[i] * x[i];
    free(a);
    return s;
}
