/* Pointers that are moved two at a time, by an index that counts pairs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef long pair __attribute__((vector_size(16), aligned(8), may_alias));
extern int enzyme_dup, enzyme_const;
double __enzyme_autodiff(void *, ...), __enzyme_fwddiff(void *, ...);

/* Each round exchanges all pointers of one array with those of another, in pairs, then moves what they point to. */
double rounds(const double *x, int n, int times) {
    double **a = malloc(n * sizeof *a), **b = malloc(n * sizeof *b), sum = 0;
    for (int i = 0; i < n; i++) {
        a[i] = malloc(sizeof **a), b[i] = malloc(sizeof **b);
        *a[i] = x[i], *b[i] = x[i] * x[(i + 1) % n];
    }
    for (int t = 0; t < times; t++) {
        for (int k = 0; 2 * k + 1 < n; k++) { int i = 2 * k;
            pair held = *(pair *)(a + i);
            *(pair *)(a + i) = *(pair *)(b + i);
            *(pair *)(b + i) = held;
        }
        for (int i = 0; i < n; i++) *a[i] += sin(*b[(i + t) % n]);
    }
    for (int i = 0; i < n; i++) {
        sum += *a[i] * (i + 1) + *b[i];
        free(a[i]), free(b[i]);
    }
    free(a), free(b);
    return sum;
}

int main(void) {
    enum { N = 5 };
    double x[N] = {0.3, -0.7, 1.1, 0.2, 0.9}, d[N] = {0}, u[N] = {1, 2, -1, 0.5, 3}, along = 0;
    __enzyme_autodiff((void *)rounds, enzyme_dup, x, d, enzyme_const, N, enzyme_const, 3);
    int bad = 0;
    for (int i = 0; i < N; i++) {
        double kept = x[i], h = 1e-6;
        x[i] = kept + h;
        double above = rounds(x, N, 3);
        x[i] = kept - h;
        double slope = (above - rounds(x, N, 3)) / (2 * h);
        x[i] = kept;
        along += slope * u[i];
        if (fabs(d[i] - slope) > 1e-7) printf("d[%d]: %.10g, not %.10g\n", i, d[i], slope), bad = 1;
    }
    double forward = __enzyme_fwddiff((void *)rounds, enzyme_dup, x, u, enzyme_const, N, enzyme_const, 3);
    if (fabs(forward - along) > 1e-6) printf("forward: %.10g, not %.10g\n", forward, along), bad = 1;
    return bad;
}
