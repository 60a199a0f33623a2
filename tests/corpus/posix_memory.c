// An allocation that is returned through a pointer.
#include <stdlib.h>
double posix_memory(double *x, int n) {
    void *p;
    if (posix_memalign(&p, 64, 128)) return 0;
    double *a = p, s = 0;
    for (int i = 0; i < n; i++) a[i] = x[i] * x[0];
    for (int i = 0; i < n; i++) s += a[i] * a[n - 1 - i];
    free(p);
    return s;
}
