// Half of a block is copied, the other half set.
#include <stdlib.h>
#include <string.h>
double shared_not_part(const double *x, int n) {
    double *w = malloc(2 * n * sizeof *w), s = 0;
    memcpy(w, x, n * sizeof *w);
    for (int i = 0; i < n; i++) w[n + i] = i + 1;
    for (int i = 0; i < n; i++) s += w[i] * w[2 * n - 1 - i] * w[0];
    free(w);
    return s;
}
