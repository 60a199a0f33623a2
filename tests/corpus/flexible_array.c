// A struct that ends in an array of unknown size.
#include <stdlib.h>
struct row { int n; double v[]; };
double flexible_array(double *x, int n) {
    struct row *r = malloc(sizeof *r + n * sizeof(double));
    r->n = n;
    for (int i = 0; i < r->n; i++) r->v[i] = x[i] * x[(i + 1) % n];
    double s = 1;
    for (int i = 0; i < r->n; i++) s = s * 0.5 + r->v[i] * s;
    free(r);
    return s;
}
