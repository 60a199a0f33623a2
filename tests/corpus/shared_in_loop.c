// Another part is copied in each round, by a function, and read by another.
#include <stdlib.h>
#include <string.h>
static __attribute__((noinline)) double *copied(const double *x, int n) {
    double *w = malloc(n * sizeof *w);
    memcpy(w, x, n * sizeof *w);
    return w;
}
static __attribute__((noinline)) double product(const double *w, int n) {
    double p = 1;
    for (int i = 0; i < n; i++) p *= w[i] * w[i] + p * w[0];
    return p;
}
double shared_in_loop(const double *x, int n) {
    double s = 0;
    for (int k = 0; k + 3 < n; k++) {
        double *w = copied(x + k, 3);
        s = s * w[1] + product(w, 3);
        free(w);
    }
    return s;
}
