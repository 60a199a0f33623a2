// Sorting by the C library, which calls back.
#include <stdlib.h>
static int compare(const void *a, const void *b) {
    double d = *(const double *)a - *(const double *)b;
    return d < 0 ? -1 : d > 0;
}
double qsort_library(double *x, int n) {
    qsort(x, n, sizeof *x, compare);
    return x[0] + 2 * x[n / 2];
}
