// The result of malloc is tested, as careful programs do.
#include <stdlib.h>
double malloc_failure_test(double *x, int n) {
    double *a = malloc(sizeof *a * n);
    if (!a) return -1.0;
    double *b = malloc(sizeof *b * n);
    if (!b) {
        free(a);
        return -1.0;
    }
    for (int i = 0; i < n; i++) b[i] = (a[i] = x[i] * x[i]) + x[0];
    double s = 0;
    for (int i = 0; i < n; i++) s += a[i] * b[n - 1 - i];
    free(b);
    free(a);
    return s;
}
