// aligned_alloc and posix_memalign.
#include <stdlib.h>
double aligned_allocation(double *x, int n) {
    double *a = aligned_alloc(64, 128), s = 0;
    for (int i = 0; i < n; i++) a[i] = x[i] * x[0];
    for (int i = 0; i < n; i++) s += a[i] * a[n - 1 - i];
    free(a);
    return s;
}
