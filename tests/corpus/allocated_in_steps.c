// Blocks that are made in one step and released in the next, by a callee, under a condition, or on the way to an abort;
// one release gets blocks of floats and of integers, another what the reverse sweep does not look at.
#include <stdlib.h>
static __attribute__((noinline)) double *stepped(const double *x, const double *y, int n, int k) {
    double *z = k % 2 ? calloc(n, sizeof *z) : malloc(n * sizeof *z);
    if (!z) abort();
    for (int i = 0; i < n; i++) z[i] = y[i] + 0.1 * x[i] * y[(i + k) % n] * y[i];
    return z;
}
static __attribute__((noinline)) void drop(void *block) { free(block); }
double allocated_in_steps(double *x, int n) {
    double *y = malloc(n * sizeof *y), *kept = 0, s = 0;
    int *order = malloc(n * sizeof *order);
    for (int i = 0; i < n; i++) y[i] = x[i] * x[i], order[i] = n - 1 - i;
    for (int k = 0; k < 5; k++) {
        double *z = stepped(x, y, n, k), *linear = malloc(n * sizeof *linear);
        for (int i = 0; i < n; i++) linear[i] = 2 * z[order[i]];
        for (int i = 0; i < n; i++) s += linear[i] * (i + 1);
        free(linear);
        if (z[0] > 1e9) {
            free(y);
            abort();
        }
        if (k == 2)
            kept = y;
        else
            free(y);
        y = z;
    }
    for (int i = 0; i < n; i++) s += kept[i] * y[i];
    drop(kept);
    drop(order);
    free(y);
    return s;
}
