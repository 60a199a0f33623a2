// memmove within a static array, then from it.
#include <string.h>
double global_array_moved(double *x, int n) {
    static double g[5];
    double a[3];
    for (int i = 0; i < 5; i++) g[i] = x[i] * x[i];
    memmove(g + 1, g, 3 * sizeof(double));
    memmove(a, g, 3 * sizeof(double));
    return a[2] * 0.5 + a[0] + g[3];
}
