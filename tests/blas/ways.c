/* One function of BLAS calls under all modes: lanes, split, constant memory, runtime activity, second derivatives. */
#include <math.h>
#include <stdio.h>
#include <string.h>
enum { ROWS = 101, COLUMNS, NONE = 111, TRANSPOSED, UPPER = 121, LOWER, NON_UNIT = 131, UNIT, N = 3, SIZE = N * N };
double cblas_ddot(int, const double *, int, const double *, int);
double cblas_dnrm2(int, const double *, int);
void cblas_dgemv(int, int, int, int, double, const double *, int, const double *, int, double, double *, int);
void cblas_dgemm(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *, int);
void cblas_dtrsv(int, int, int, int, int, const double *, int, double *, int);
void cblas_dscal(int, double, double *, int);

extern int enzyme_dup, enzyme_const, enzyme_width, enzyme_runtime_activity, enzyme_nofree;
double __enzyme_autodiff(void *, ...), __enzyme_fwddiff(void *, ...);
typedef struct { double first, second; } pair;
typedef struct { void *tape; double value; } kept;
pair __enzyme_fwddiff_two(void *, ...);
kept __enzyme_augmentfwd(void *, ...);
void __enzyme_reverse(void *, ...);

/* Steps of x = solve(A, A B x) / |x|, with A changed on the way; the result depends on the last x. */
double f(const double *a, const double *b, int steps) {
    double m[SIZE], p[SIZE], x[N] = {1, 0.5, 0.25}, y[N];
    memcpy(m, a, sizeof m);
    double sum = 0;
    for (int i = 0; i < steps; i++) {
        cblas_dgemm(ROWS, NONE, TRANSPOSED, N, N, N, 1, m, N, b, N, 0, p, N);
        cblas_dgemv(ROWS, NONE, N, N, 1.5, p, N, x, 1, 0, y, 1);
        cblas_dtrsv(ROWS, LOWER, NONE, NON_UNIT, N, m, N, y, 1);
        cblas_dscal(N, 1 / cblas_dnrm2(N, y, 1), y, 1);
        for (int j = 0; j < N; j++) x[j] = y[j], m[j * N] += 0.1 * y[j] * y[j];
        sum += sin(cblas_ddot(N, x, 1, b, 1));
    }
    return sum;
}

static int failures;
static void close_to(const char *what, double got, double expected) {
    if (fabs(got - expected) <= 1e-6 * (1 + fabs(expected))) return;
    printf("%s: %.12g, not %.12g\n", what, got, expected);
    failures++;
}

static double slope(const double *a, const double *b, const double *da, const double *db, double h) {
    double at[2];
    for (int side = 0; side < 2; side++) {
        double x[SIZE], y[SIZE], s = side ? -h : h;
        for (int i = 0; i < SIZE; i++) x[i] = a[i] + s * da[i], y[i] = b[i] + s * db[i];
        at[side] = f(x, y, 4);
    }
    return (at[0] - at[1]) / (2 * h);
}

#define CONST enzyme_const, 4
static double dot(const double *x, const double *y) {
    double sum = 0;
    for (int i = 0; i < SIZE; i++) sum += x[i] * y[i];
    return sum;
}
/* first derivatives, to be differentiated */
double ahead(const double *a, const double *da, const double *b, const double *db, int n) {
    return __enzyme_fwddiff((void *)f, enzyme_dup, a, da, enzyme_dup, b, db, enzyme_const, n);
}
void back(const double *a, double *da, const double *b, double *db, int n) {
    __enzyme_autodiff((void *)f, enzyme_dup, a, da, enzyme_dup, b, db, enzyme_const, n);
}
double along(const double *a, const double *b, const double *u, int n) {
    double da[SIZE] = {0}, db[SIZE] = {0};
    back(a, da, b, db, n);
    return dot(da, u) + dot(db, u);
}

int main(void) {
    double a[SIZE], b[SIZE], u[SIZE], w[SIZE], zero[SIZE] = {0}, h = 1e-5;
    for (int i = 0; i < SIZE; i++) a[i] = 0.5 * cos(i) + (i % 4 == 0) * 2, b[i] = sin(2 * i + 1), u[i] = cos(3 * i), w[i] = sin(i * i);
    double uu = slope(a, b, u, u, h), ww = slope(a, b, w, zero, h), only_b = slope(a, b, zero, u, h);

    double da[SIZE] = {0}, db[SIZE] = {0};
    back(a, da, b, db, 4);
    close_to("reverse", dot(da, u) + dot(db, u), uu);
    close_to("forward", ahead(a, u, b, u, 4), uu);

    pair two = __enzyme_fwddiff_two((void *)f, enzyme_width, 2, enzyme_dup, a, u, w, enzyme_dup, b, u, zero, CONST);
    close_to("forward, lane 0", two.first, uu);
    close_to("forward, lane 1", two.second, ww);

    double d0[SIZE] = {0}, d1[SIZE] = {0}, e0[SIZE] = {0}, e1[SIZE] = {0};
    __enzyme_autodiff((void *)f, enzyme_width, 2, enzyme_dup, a, d0, d1, enzyme_dup, b, e0, e1, CONST);
    close_to("reverse, lane 1", dot(d1, u) + dot(e1, u), uu);
    close_to("reverse, lane 0", dot(d0, w), ww);

    memset(db, 0, sizeof db);
    __enzyme_autodiff((void *)f, enzyme_const, a, enzyme_dup, b, db, CONST);
    close_to("one constant", dot(db, u), only_b);
    memset(db, 0, sizeof db);
    __enzyme_autodiff((void *)f, enzyme_runtime_activity, enzyme_dup, a, a, enzyme_dup, b, db, CONST);
    close_to("runtime activity", dot(db, u), only_b);
    close_to("runtime activity, forward", __enzyme_fwddiff((void *)f, enzyme_runtime_activity, enzyme_dup, a, a,
             enzyme_dup, b, u, CONST), only_b);

    double x[SIZE], y[SIZE];
    memcpy(x, a, sizeof a), memcpy(y, b, sizeof b);
    memset(da, 0, sizeof da), memset(db, 0, sizeof db);
    kept k = __enzyme_augmentfwd((void *)f, enzyme_dup, x, da, enzyme_dup, y, db, CONST);
    memset(x, 0, sizeof x), memset(y, 0, sizeof y);
    __enzyme_reverse((void *)f, enzyme_nofree, enzyme_dup, x, da, enzyme_dup, y, db, CONST, 1.0, k.tape);
    __enzyme_reverse((void *)f, enzyme_dup, x, da, enzyme_dup, y, db, CONST, 1.0, k.tape);
    close_to("split, twice", dot(da, u) + dot(db, u), 2 * uu);
    close_to("split, value", k.value, f(a, b, 4));

    double ap[SIZE], am[SIZE];
    for (int i = 0; i < SIZE; i++) ap[i] = a[i] + h * w[i], am[i] = a[i] - h * w[i];
    double second = (slope(ap, b, u, u, 1e-5) - slope(am, b, u, u, 1e-5)) / (2 * h);
    second = (along(ap, b, u, 4) - along(am, b, u, 4)) / (2 * h);
    close_to("forward over reverse", __enzyme_fwddiff((void *)along, enzyme_dup, a, w, enzyme_const, b, enzyme_const, u, CONST), second);
    memset(da, 0, sizeof da);
    __enzyme_autodiff((void *)along, enzyme_dup, a, da, enzyme_const, b, enzyme_const, u, CONST);
    close_to("reverse over reverse", dot(da, w), second);
    memset(da, 0, sizeof da);
    __enzyme_autodiff((void *)ahead, enzyme_dup, a, da, enzyme_const, u, enzyme_const, b, enzyme_const, u, CONST);
    close_to("reverse over forward", dot(da, w), second);
    close_to("forward over forward", __enzyme_fwddiff((void *)ahead, enzyme_dup, a, w, enzyme_const, u, enzyme_const, b, enzyme_const, u, CONST), second);

    if (!failures) printf("all right\n");
    return failures != 0;
}
