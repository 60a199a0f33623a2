/* Derivatives of all BLAS routines that have rules, in all their variants, against finite differences.
 *
 * `v` holds two scalars, three matrices and two vectors. Each function copies what it needs, calls one routine, spoils
 * the inputs (so that the reverse sweep has to have kept them), and sums the sines of all the memory.
 * Compiled for T = double or float, with -DFORTRAN for the Fortran names. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef T
#define T double
#define LETTER d
#endif
#define JOIN_(a, b, c) a##b##c
#define JOIN(a, b, c) JOIN_(a, b, c)
enum { N = 4, LD = 5, MATRIX = LD * LD, VECTOR = 9, SIZE = 2 + 3 * MATRIX + 2 * VECTOR };

#ifdef FORTRAN
#define CALL(name) JOIN(LETTER, name, _)
#define IN(x) (&(x))
enum { ROWS = 0 };
#else
#define CALL(name) JOIN(cblas_, LETTER, name)
#define IN(x) (x)
enum { ROWS = 1 };
#endif
#ifdef FORTRAN
typedef const int *I; typedef const T *R; typedef const char *E;
#define ORDER_
#define ORDER
static char transposed[] = "NT", upper[] = "LU", unit[] = "NU", left[] = "RL";
#define FLAG(table, bit) (&table[bit])
#else
typedef int I; typedef T R; typedef int E;
#define ORDER_ E,
#define ORDER rows ? 101 : 102,
static int transposed[] = {111, 112}, upper[] = {122, 121}, unit[] = {131, 132}, left[] = {142, 141};
#define FLAG(table, bit) table[bit]
#endif
T CALL(dot)(I, const T *, I, const T *, I);
T CALL(nrm2)(I, const T *, I);
T CALL(asum)(I, const T *, I);
void CALL(axpy)(I, R, const T *, I, T *, I);
void CALL(scal)(I, R, T *, I);
void CALL(copy)(I, const T *, I, T *, I);
void CALL(swap)(I, T *, I, T *, I);
void CALL(rot)(I, T *, I, T *, I, R, R);
void CALL(gemv)(ORDER_ E, I, I, R, const T *, I, const T *, I, R, T *, I);
void CALL(ger)(ORDER_ I, I, R, const T *, I, const T *, I, T *, I);
void CALL(symv)(ORDER_ E, I, R, const T *, I, const T *, I, R, T *, I);
void CALL(syr)(ORDER_ E, I, R, const T *, I, T *, I);
void CALL(syr2)(ORDER_ E, I, R, const T *, I, const T *, I, T *, I);
void CALL(trmv)(ORDER_ E, E, E, I, const T *, I, T *, I);
void CALL(trsv)(ORDER_ E, E, E, I, const T *, I, T *, I);
void CALL(gemm)(ORDER_ E, E, I, I, I, R, const T *, I, const T *, I, R, T *, I);
void CALL(symm)(ORDER_ E, E, I, I, R, const T *, I, const T *, I, R, T *, I);
void CALL(syrk)(ORDER_ E, E, I, I, R, const T *, I, R, T *, I);
void CALL(syr2k)(ORDER_ E, E, I, I, R, const T *, I, const T *, I, R, T *, I);
void CALL(trmm)(ORDER_ E, E, E, E, I, I, R, const T *, I, T *, I);
void CALL(trsm)(ORDER_ E, E, E, E, I, I, R, const T *, I, T *, I);

typedef struct { T alpha, beta, a[MATRIX], b[MATRIX], c[MATRIX], x[VECTOR], y[VECTOR]; } memory;

static T total(memory *m, T result) {
    T sum = result * result;
    for (int i = 0; i < MATRIX; i++) sum += sin(m->a[i] + i) + sin(m->b[i] * 2) + sin(m->c[i] + 0.5f * i);
    for (int i = 0; i < VECTOR; i++) sum += sin(m->x[i] + i) + cos(m->y[i] - i);
    return sum;
}
/* what only a reverse sweep asks for again */
static void spoil(T *x, int n) { for (int i = 0; i < n; i++) x[i] *= x[i]; }

#define VARIANT const int p, const int q, const int r, const int s, const int rows, const int incx, const int incy
#define GIVEN p, q, r, s, rows, incx, incy
#define CASE(name, ...) case name: { __VA_ARGS__; break; }
#define ALL(X) X(dot, 0, 3) X(nrm2, 0, 2) X(asum, 0, 2) X(axpy, 0, 3) X(scal, 0, 2) X(copy, 0, 3) X(swap, 0, 3) \
    X(rot, 0, 3) X(gemv, 1, 3) X(ger, 0, 3) X(symv, 1, 3) X(syr, 1, 3) X(syr2, 1, 3) X(trmv, 3, 3) X(trsv, 3, 3) \
    X(gemm, 2, 1) X(symm, 2, 1) X(syrk, 2, 1) X(syr2k, 2, 1) X(trmm, 4, 1) X(trsm, 4, 1)
#define NAME(name, flags, increments) name,
enum { ALL(NAME) };

T program(const T *v, int which, VARIANT) {
    memory held, *m = &held;
    memcpy(m, v, sizeof held);
    T result = 0, alpha = m->alpha, beta = m->beta;
    int n = N, one = 3, ld = LD, k = 2;
    switch (which) {
    CASE(dot, result = CALL(dot)(IN(n), m->x, IN(incx), m->y, IN(incy)); spoil(m->x, VECTOR); spoil(m->y, VECTOR))
    CASE(nrm2, result = CALL(nrm2)(IN(n), m->x, IN(incx)); spoil(m->x, VECTOR))
    CASE(asum, result = CALL(asum)(IN(n), m->x, IN(incx)); spoil(m->x, VECTOR))
    CASE(axpy, CALL(axpy)(IN(n), IN(alpha), m->x, IN(incx), m->y, IN(incy)); spoil(m->x, VECTOR))
    CASE(scal, CALL(scal)(IN(n), IN(alpha), m->x, IN(incx)))
    CASE(copy, CALL(copy)(IN(n), m->x, IN(incx), m->y, IN(incy)))
    CASE(swap, CALL(swap)(IN(n), m->x, IN(incx), m->y, IN(incy)))
    CASE(rot, CALL(rot)(IN(n), m->x, IN(incx), m->y, IN(incy), IN(alpha), IN(beta)))
    CASE(gemv, CALL(gemv)(ORDER FLAG(transposed, p), IN(one), IN(n), IN(alpha), m->a, IN(ld), m->x, IN(incx), IN(beta),
                           m->y, IN(incy)); spoil(m->a, MATRIX); spoil(m->x, VECTOR))
    CASE(ger, CALL(ger)(ORDER IN(one), IN(n), IN(alpha), m->x, IN(incx), m->y, IN(incy), m->a, IN(ld));
        spoil(m->x, VECTOR); spoil(m->y, VECTOR))
    CASE(symv, CALL(symv)(ORDER FLAG(upper, p), IN(n), IN(alpha), m->a, IN(ld), m->x, IN(incx), IN(beta),
                           m->y, IN(incy)); spoil(m->a, MATRIX); spoil(m->x, VECTOR))
    CASE(syr, CALL(syr)(ORDER FLAG(upper, p), IN(n), IN(alpha), m->x, IN(incx), m->a, IN(ld)); spoil(m->x, VECTOR))
    CASE(syr2, CALL(syr2)(ORDER FLAG(upper, p), IN(n), IN(alpha), m->x, IN(incx), m->y, IN(incy), m->a, IN(ld));
        spoil(m->x, VECTOR); spoil(m->y, VECTOR))
    CASE(trmv, CALL(trmv)(ORDER FLAG(upper, p), FLAG(transposed, q), FLAG(unit, r), IN(n), m->a, IN(ld), m->x, IN(incx));
        spoil(m->a, MATRIX); spoil(m->x, VECTOR))
    CASE(trsv, CALL(trsv)(ORDER FLAG(upper, p), FLAG(transposed, q), FLAG(unit, r), IN(n), m->a, IN(ld), m->x, IN(incx));
        spoil(m->a, MATRIX); spoil(m->x, VECTOR))
    CASE(gemm, CALL(gemm)(ORDER FLAG(transposed, p), FLAG(transposed, q), IN(one), IN(n), IN(k), IN(alpha),
        m->a, IN(ld), m->b, IN(ld), IN(beta), m->c, IN(ld)); spoil(m->a, MATRIX); spoil(m->b, MATRIX))
    CASE(symm, CALL(symm)(ORDER FLAG(left, p), FLAG(upper, q), IN(one), IN(n), IN(alpha),
        m->a, IN(ld), m->b, IN(ld), IN(beta), m->c, IN(ld)); spoil(m->a, MATRIX); spoil(m->b, MATRIX))
    CASE(syrk, CALL(syrk)(ORDER FLAG(upper, p), FLAG(transposed, q), IN(n), IN(one), IN(alpha), m->a, IN(ld), IN(beta),
        m->c, IN(ld)); spoil(m->a, MATRIX))
    CASE(syr2k, CALL(syr2k)(ORDER FLAG(upper, p), FLAG(transposed, q), IN(n), IN(one), IN(alpha), m->a, IN(ld),
        m->b, IN(ld), IN(beta), m->c, IN(ld)); spoil(m->a, MATRIX); spoil(m->b, MATRIX))
    CASE(trmm, CALL(trmm)(ORDER FLAG(left, p), FLAG(upper, q), FLAG(transposed, r), FLAG(unit, s), IN(one), IN(n),
        IN(alpha), m->a, IN(ld), m->b, IN(ld)); spoil(m->a, MATRIX); spoil(m->b, MATRIX))
    CASE(trsm, CALL(trsm)(ORDER FLAG(left, p), FLAG(upper, q), FLAG(transposed, r), FLAG(unit, s), IN(one), IN(n),
        IN(alpha), m->a, IN(ld), m->b, IN(ld)); spoil(m->a, MATRIX); spoil(m->b, MATRIX))
    }
    return total(m, result);
}

extern int enzyme_dup, enzyme_const;
T __enzyme_autodiff(void *, ...);
T __enzyme_fwddiff(void *, ...);

static int failures;
static T tolerance = sizeof(T) == 8 ? 1e-7 : 2e-2;

static void compare(const char *name, const char *way, VARIANT, double got, double expected) {
    if (fabs(got - expected) <= tolerance * (1 + fabs(expected))) return;
    printf("%s %s(%d %d %d %d rows %d inc %d %d): %.10g, not %.10g\n", way, name, GIVEN, got, expected);
    failures++;
}

#define ARGUMENTS enzyme_const, which, enzyme_const, p, enzyme_const, q, enzyme_const, r, enzyme_const, s, \
                  enzyme_const, rows, enzyme_const, incx, enzyme_const, incy

static void check(const char *name, int which, VARIANT) {
    T v[SIZE], d[SIZE] = {0}, u[SIZE];
    for (int i = 0; i < SIZE; i++) v[i] = 0.3f + 0.1f * sinf(i * i + 1), u[i] = cosf(3 * i);
    for (int i = 0; i < LD; i++) v[2 + i * (LD + 1)] += 1; /* a diagonal to divide by */
    T other[SIZE];
    double along = 0, h = sizeof(T) == 8 ? 1e-5 : 1e-2;
    __enzyme_autodiff((void *)program, enzyme_dup, v, d, ARGUMENTS);
    for (int i = 0; i < SIZE; i++) {
        memcpy(other, v, sizeof v);
        other[i] += h;
        double above = program(other, which, GIVEN);
        other[i] -= 2 * h;
        double expected = (above - program(other, which, GIVEN)) / (2 * h);
        compare(name, "reverse", GIVEN, d[i], expected);
        along += u[i] * expected;
    }
    double slope = __enzyme_fwddiff((void *)program, enzyme_dup, v, u, ARGUMENTS);
    compare(name, "forward", GIVEN, slope, along);
}

#define CHECK(name, flags, increments) \
    for (int bits = 0; bits < 1 << flags; bits++) \
        for (int rows = 0; rows <= ROWS; rows++) \
            for (int way = 0; way < increments; way++) \
                check(#name, name, bits & 1, bits >> 1 & 1, bits >> 2 & 1, bits >> 3, \
                      rows, way == 2 ? -2 : 1 + way, way == 1 ? -1 : way == 2 ? 2 : 1);

int main(void) {
    ALL(CHECK)
    if (!failures) printf("all right\n");
    return failures != 0;
}
