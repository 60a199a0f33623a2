/* The two sweeps apart: memory changes in between, tapes are read in any order. */
#include "check.h"

typedef struct { void *tape; double value; } kept;
typedef struct { void *tape; double *value, *shadow; } kept_pointer;
kept __enzyme_augmentfwd_value(void *, ...);
kept_pointer __enzyme_augmentfwd_pointer(void *, ...);
void __enzyme_reverse(void *, ...);
double __enzyme_reverse_double(void *, ...);
long __enzyme_augmentsize(void *, ...);

static double product(const double *x, int n) {
    double p = 1;
    for (int i = 0; i < n; i++) p *= x[i];
    return p;
}
static void squares(double *x, int n) {
    for (int i = 0; i < n; i++) x[i] = x[i] * x[i] * x[i];
}
static double *state;
__attribute__((noinline)) static double inner(const double *x) { return state[0] * x[0] + sin(x[1]); }
static double outer(double a, const double *x) { return a * inner(x) * inner(x); }
static double heap(const double *x, int n) {
    double *t = malloc(n * sizeof *t), s = 0;
    for (int i = 0; i < n; i++) t[i] = x[i] * x[i];
    for (int i = 0; i < n; i++) s += t[i] * t[n - 1 - i];
    free(t);
    return s;
}
typedef struct { double **rows; int n; } matrix;
static double trace(const matrix *m) {
    double s = 1;
    for (int i = 0; i < m->n; i++) s *= m->rows[i][i];
    return s;
}
static double *second(double *p) { p[1] *= p[0]; return p + 1; }
static int steps = 2;
static double many(double x) { for (int i = 0; i < steps; i++) x = x * x; return x; }
static double chaos(double x, double eps) { int n = 0; while (fabs(x) > eps) { x = sin(x) * 0.5; n++; } return x * n; }

int main(void) {
    double x[4] = {2, 3, 4, 5}, dx[4] = {0};
    kept t = __enzyme_augmentfwd_value((void *)product, x, dx, 4);
    CHECK(t.value, 120);
    x[0] = x[1] = x[2] = x[3] = NAN;
    __enzyme_reverse((void *)product, x, dx, 4, 2.0, t.tape);
    CHECK(dx[0], 120);
    CHECK(dx[3], 48);

    double y[2] = {2, 3}, dy[2] = {1, 10};
    void *tape = __enzyme_augmentfwd((void *)squares, y, dy, 2);
    CHECK(y[1], 27);
    y[0] = y[1] = -1;
    __enzyme_reverse((void *)squares, y, dy, 2, tape);
    CHECK(dy[0], 12);
    CHECK(dy[1], 270);

    double a[2] = {3, 0.5}, da[2] = {0}, s = 2;
    state = &s;
    kept one = __enzyme_augmentfwd_value((void *)outer, 1.5, a, da);
    double in = 2 * 3 + sin(0.5);
    CHECK(one.value, 1.5 * in * in);
    s = 100;
    a[0] = 7;
    double d = __enzyme_reverse_double((void *)outer, 1.5, a, da, 1.0, one.tape);
    CHECK(d, in * in);
    CHECK(da[0], 1.5 * 2 * in * 2);
    CHECK(da[1], 1.5 * 2 * in * cos(0.5));

    double *none = 0;
    kept tapes[3];
    double xs[3][3], ds[3][3] = {{0}};
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 3; i++) xs[k][i] = k + i + 1;
        tapes[k] = __enzyme_augmentfwd_value((void *)heap, xs[k], ds[k], 3);
    }
    int order[3] = {1, 2, 0};
    for (int n = 0; n < 3; n++) {
        int k = order[n];
        for (int i = 0; i < 3; i++) xs[k][i] = 0;
        __enzyme_reverse((void *)heap, none, ds[k], 3, 1.0, tapes[k].tape);
    }
    for (int k = 0; k < 3; k++) {
        double u[3] = {k + 1, k + 2, k + 3}, v[3] = {k + 1, k + 2, k + 3};
        for (int i = 0; i < 3; i++) {
            u[i] += 1e-6, v[i] -= 1e-6;
            CHECK_DIFFERENCE(ds[k][i], (heap(u, 3) - heap(v, 3)) / 2e-6);
            u[i] -= 1e-6, v[i] += 1e-6;
        }
    }

    double r0[2] = {2, 3}, r1[2] = {4, 5}, *rows[2] = {r0, r1}, d0[2] = {0}, d1[2] = {0}, *drows[2] = {d0, d1};
    matrix m = {rows, 2}, dm = {drows, 2};
    kept k = __enzyme_augmentfwd_value((void *)trace, &m, &dm);
    CHECK(k.value, 10);
    rows[0] = rows[1] = drows[0] = drows[1] = 0, m.rows = 0, m.n = 0;
    __enzyme_reverse((void *)trace, &m, &dm, 1.0, k.tape);
    CHECK(d0[0], 5);
    CHECK(d1[1], 2);

    double p[2] = {3, 4}, dp[2] = {0, 0};
    kept_pointer q = __enzyme_augmentfwd_pointer((void *)second, p, dp);
    CHECK(q.value == p + 1, 1);
    CHECK(q.shadow == dp + 1, 1);
    CHECK(*q.value, 12);
    *q.shadow = 1;
    __enzyme_reverse((void *)second, p, dp, q.tape);
    CHECK(dp[0], 4);
    CHECK(dp[1], 3);

    kept w = __enzyme_augmentfwd_value((void *)many, 3.0);
    CHECK(w.value, 81);
    steps = 5;
    CHECK(__enzyme_reverse_double((void *)many, 3.0, 1.0, w.tape), 4 * 27);

    kept c = __enzyme_augmentfwd_value((void *)chaos, 1.0, enzyme_const, 1e-3);
    CHECK_DIFFERENCE(__enzyme_reverse_double((void *)chaos, 1.0, enzyme_const, 1e-3, 1.0, c.tape),
                     (chaos(1 + 1e-7, 1e-3) - chaos(1 - 1e-7, 1e-3)) / 2e-7);

    long bytes = __enzyme_augmentsize((void *)product, enzyme_dup, enzyme_const);
    char *memory = malloc(bytes);
    double z[2] = {3, 4}, dz[2] = {0};
    __enzyme_augmentfwd((void *)product, enzyme_allocated, 64, enzyme_tape, memory, z, dz, 2);
    z[0] = z[1] = 0;
    __enzyme_reverse((void *)product, enzyme_allocated, 64, enzyme_tape, memory, z, dz, 2, 1.0);
    CHECK(dz[0], 4);
    CHECK(dz[1], 3);
    free(memory);

    /* a tape that holds nothing */
    kept linear = __enzyme_augmentfwd_value((void *)inner, enzyme_const, a);
    CHECK(linear.value, s * 7 + sin(0.5));
    __enzyme_reverse((void *)inner, enzyme_const, a, 1.0, linear.tape);
    return failures;
}
