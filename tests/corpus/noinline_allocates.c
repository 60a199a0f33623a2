// A function that gives back new memory, and one that frees it.
#include <stdlib.h>
static __attribute__((noinline)) double *squares(const double *x, int n) {
    double *a = malloc(n * sizeof *a);
    for (int i = 0; i < n; i++) a[i] = x[i] * x[i];
    return a;
}
static __attribute__((noinline)) double total(double *a, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += a[i] * a[(i + 1) % n];
    free(a);
    return s;
}
double noinline_allocates(double *x, int n) { return total(squares(x, n), n) * total(squares(x + 1, 2), 2); }
