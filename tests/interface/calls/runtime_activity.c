/* A shadow that equals its primal is constant memory: arguments, nodes of a list, choices, in both sweeps of a split. */
#include "check.h"
#include <stdlib.h>
#include <string.h>

typedef struct node { double value; int weight; struct node *next; } node;

static double list(const node *at) {
    double s = 0;
    for (; at; at = at->next) s += at->weight * at->value * at->value;
    return s;
}

static double choose(const double *a, const double *c, int n) {
    double s = 0, *copy = malloc(n * sizeof *copy);
    memcpy(copy, n > 2 ? a : c, n * sizeof *copy);
    for (int i = 0; i < n; i++) {
        const double *p = i % 2 ? a : c;
        s += p[i] * p[i] * copy[i];
    }
    free(copy);
    return s;
}

static void update(double *a, double *c, double *y, int n) {
    for (int i = 0; i < n; i++) {
        double *p = i % 2 ? a : c;
        y[i] = p[i] * a[0];
        p[i] *= p[i];
    }
}

static void gradient(const double *a, double *da, const double *c, int n) {
    __enzyme_autodiff_void((void *)choose, enzyme_runtime_activity, enzyme_dup, a, da, enzyme_const, c, enzyme_const, n);
}

void *__enzyme_augmentfwd_update(void *, ...);
void __enzyme_reverse_update(void *, ...);

int main(void) {
    node n3 = {3, 5, NULL}, n2 = {2, 7, &n3}, n1 = {1, 4, &n2};
    node d1 = {0, 0, &n2}; /* the rest of the list, from n2 on, is constant */
    __enzyme_autodiff_void((void *)list, enzyme_runtime_activity, enzyme_dup, &n1, &d1);
    CHECK(d1.value, 8);
    CHECK(n2.value, 2);
    CHECK(n3.value, 3);
    CHECK(n2.weight, 7);
    node t2 = {1, 0, &n3};
    d1 = (node){1, 0, &t2};
    CHECK(__enzyme_fwddiff((void *)list, enzyme_runtime_activity, enzyme_dup, &n1, &d1), 8 + 28);

    double a[3] = {2, 3, 5}, c[3] = {7, 11, 13}, da[3] = {0}, dc[3] = {0};
    __enzyme_autodiff_void((void *)choose, enzyme_runtime_activity, enzyme_dup, a, da, enzyme_dup, c, c, enzyme_const, 3);
    CHECK(da[0], 49);
    CHECK(da[1], 3 * 9);
    CHECK(da[2], 169);
    CHECK(c[0], 7);
    da[0] = da[1] = da[2] = 0;
    __enzyme_autodiff_void((void *)choose, enzyme_runtime_activity, enzyme_dup, a, da, enzyme_const, c, enzyme_const, 3);
    CHECK(da[0], 49);
    CHECK(da[1], 3 * 9);
    da[0] = da[1] = da[2] = 0;
    __enzyme_autodiff_void((void *)choose, enzyme_runtime_activity, enzyme_dup, a, a, enzyme_dup, c, dc, enzyme_const, 3);
    CHECK(dc[0], 2 * 7 * 2);
    CHECK(dc[2], 2 * 13 * 5);
    CHECK(dc[1], 0);
    CHECK(a[1], 3);

    double ta[3] = {1, 10, 100}, tda[3] = {0}, adjoint[3] = {1, 10, 100};
    __enzyme_fwddiff_void((void *)gradient, enzyme_runtime_activity, enzyme_dup, a, ta, enzyme_dup, da, tda, enzyme_const, c, enzyme_const, 3);
    CHECK(tda[0], 0);
    CHECK(tda[1], 6 * 3 * 10);
    CHECK(tda[2], 0);
    ta[0] = ta[1] = ta[2] = 0;
    __enzyme_autodiff_void((void *)gradient, enzyme_runtime_activity, enzyme_dup, a, ta, enzyme_dup, da, adjoint, enzyme_const, c, enzyme_const, 3);
    CHECK(ta[0], 0);
    CHECK(ta[1], 6 * 3 * 10);
    CHECK(ta[2], 0);

    double e0[3] = {0}, e1[3] = {0}, y[3] = {0}, y0[3] = {1, 1, 1}, y1[3] = {1, 1, 1};
    void *tape = __enzyme_augmentfwd_update((void *)update, enzyme_runtime_activity, enzyme_width, 2, enzyme_dup, a, e0, e1,
                                            enzyme_dup, c, c, dc, enzyme_dup, y, y0, y1, enzyme_const, 3);
    CHECK(c[0], 49);
    dc[0] = dc[1] = dc[2] = 0;
    __enzyme_reverse_update((void *)update, enzyme_runtime_activity, enzyme_width, 2, enzyme_dup, a, e0, e1,
                            enzyme_dup, c, c, dc, enzyme_dup, y, y0, y1, enzyme_const, 3, tape);
    CHECK(e0[0], 7 + 3 + 13);
    CHECK(e0[1], 2);
    CHECK(e1[0], 7 + 3 + 13);
    CHECK(e1[1], 2);
    CHECK(dc[0], 2);
    CHECK(dc[2], 2);
    CHECK(c[0], 49);
    CHECK(c[2], 169);
    CHECK(y0[0] + y1[1], 0);
    return failures;
}
