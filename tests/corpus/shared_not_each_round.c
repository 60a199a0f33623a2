// Some rounds leave out the copy, and what they would copy is not there.
#include <stdlib.h>
#include <string.h>
static __attribute__((noinline)) double round_of(const double *const *rows, int k, int n) {
    double s = 1;
    for (;; k++) {
        double *w = malloc(n * sizeof *w);
        double first = 2;
        if (rows[k] != NULL) {
            memcpy(w, rows[k], n * sizeof *w);
            first = w[0] * w[n - 1];
        }
        for (int i = 0; i < n; i++) s += rows[k] ? w[i] * first : 0.5;
        free(w);
        if (rows[k]) break;
    }
    return s;
}
double shared_not_each_round(const double *x, int n) {
    const double *rows[] = {NULL, NULL, x};
    return round_of(rows, 0, n);
}
