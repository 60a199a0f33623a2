// Heap memory made and freed in every trip, of changing size.
#include <stdlib.h>
double malloc_in_loop(double *x, int n) {
    double s = 1;
    for (int k = 1; k <= n; k++) {
        double *a = malloc(k * sizeof *a);
        for (int i = 0; i < k; i++) a[i] = x[i] * s;
        for (int i = 1; i < k; i++) a[0] += a[i] * a[i];
        s = 0.5 * a[0];
        free(a);
    }
    return s;
}
