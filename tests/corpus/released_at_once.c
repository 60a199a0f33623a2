// Blocks whose contents no reverse sweep reads are released at once, and memory is used again: by blocks that are read.
// x: 8
// n: 8
#include <stdlib.h>
static __attribute__((noinline)) void released_smooth(int n, double *restrict x) {
    double *part = malloc(n * sizeof *part);
    for (int i = 0; i < n; i++) part[i] = 0.5 * x[i] - 0.25 * x[(i + 3) % n];
    for (int i = 0; i < n; i++) x[i] += part[n - 1 - i];
    free(part);
}
static __attribute__((noinline)) double released_late(int n, const double *restrict x) {
    double *part = malloc(n * sizeof *part), sum = 0;
    for (int i = 0; i < n; i++) part[i] = x[i] * x[i];
    for (int i = 0; i < n; i++) sum += part[i] * part[(i + 1) % n];
    free(part);
    return sum;
}
double released_at_once(double *restrict x, int n) {
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        released_smooth(n, x);
        sum += released_late(n, x);
        if (sum > 0) released_smooth(n / 2, x + k);
    }
    return sum;
}
