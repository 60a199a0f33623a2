// Sorting pointers by what they point to, with a context.
#define _GNU_SOURCE
#include <stdlib.h>
static int compare(const void *a, const void *b, void *sign) {
    double p = **(double *const *)a, q = **(double *const *)b;
    return *(int *)sign * ((p > q) - (p < q));
}
double qsort_pointers(double *x, int n) {
    double *p[8], s = 0;
    int sign = -1;
    for (int i = 0; i < n; i++) p[i] = x + i;
    qsort_r(p, n, sizeof *p, compare, &sign);
    for (int i = 0; i < n; i++) s += *p[i] * *p[i] * (i + 1);
    *p[0] *= 2;
    return s + x[0] * x[1];
}
