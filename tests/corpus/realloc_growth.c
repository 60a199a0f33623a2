// A growing heap array.
#include <stdlib.h>
double realloc_growth(double *x, int n) {
    double *a = NULL, s = 0;
    int size = 0, used = 0;
    for (int i = 0; i < 2 * n; i++) {
        if (used == size) {
            size = size ? 2 * size : 1;
            a = realloc(a, size * sizeof *a);
        }
        a[used++] = x[i % n] * (i + 1);
    }
    for (int i = 1; i < used; i++) s += a[i] * a[i - 1];
    free(a);
    return s;
}
