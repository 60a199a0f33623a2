/* Symmetric indefinite matrices in all ways: from v to one number that depends on all that is written. */
#include <math.h>
#include <stdlib.h>
typedef double T;
typedef const int *I;
void dsytrf_(const char *, I, T *, I, int *, T *, I, int *);
void dsytrs_(const char *, I, I, const T *, I, I, T *, I, int *);
void dsysv_(const char *, I, I, T *, I, int *, T *, I, T *, I, int *);
void dsytri_(const char *, I, T *, I, I, T *, int *);
#ifndef FORTRAN_ONLY
int LAPACKE_dsytrf(int, char, int, T *, int, int *);
int LAPACKE_dsytrs(int, char, int, int, const T *, int, const int *, T *, int);
int LAPACKE_dsysv(int, char, int, int, T *, int, int *, T *, int);
int LAPACKE_dsytri(int, char, int, T *, int, const int *);
#endif
enum { SYTRF, SYTRS, SYSV, SYTRI };

/* v: n * n numbers of the matrix, then n * 2 right hand sides. What is not read of the matrix is not a number. */
T program(const T *v, int n, int which, int style, int up)
{
    int two = 2, ld = n + 1, ldb = style == 2 ? 3 : n + 2, info = 0, size = 64 * n, order = style == 2 ? 101 : 102;
    T *a = malloc(sizeof(T) * ld * n), *b = malloc(sizeof(T) * (3 * n + 4)), *work = malloc(sizeof(T) * size), sum = 0;
    int *p = malloc(sizeof(int) * n);
    char uplo = up ? 'U' : 'l';
#define A(i, j) a[style == 2 ? (i) * ld + (j) : (i) + (j) * ld]
#define READ(i, j) (up ? (i) <= (j) : (i) >= (j))
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) A(i, j) = !READ(i, j) ? NAN : v[i + j * n] * (i == j ? 0.1 : 1);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 2; j++) b[style == 2 ? i * ldb + j : i + j * ldb] = v[n * n + i + j * n];
    if (style == 0) {
        if (which == SYSV) dsysv_(&uplo, &n, &two, a, &ld, p, b, &ldb, work, &size, &info);
        else dsytrf_(&uplo, &n, a, &ld, p, work, &size, &info);
        if (which == SYTRS && !info) dsytrs_(&uplo, &n, &two, a, &ld, p, b, &ldb, &info);
        if (which == SYTRI && !info) dsytri_(&uplo, &n, a, &ld, p, work, &info);
    }
#ifndef FORTRAN_ONLY
    else {
        if (which == SYSV) info = LAPACKE_dsysv(order, uplo, n, 2, a, ld, p, b, ldb);
        else info = LAPACKE_dsytrf(order, uplo, n, a, ld, p);
        if (which == SYTRS && !info) info = LAPACKE_dsytrs(order, uplo, n, 2, a, ld, p, b, ldb);
        if (which == SYTRI && !info) info = LAPACKE_dsytri(order, uplo, n, a, ld, p);
    }
#endif
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (READ(i, j)) sum += sin(i + 3 * j + 1) * A(i, j) * A(i, j);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < 2; j++) {
            T x = b[style == 2 ? i * ldb + j : i + j * ldb];
            sum += cos(i + 2 * j) * x * x;
        }
        sum += 1e-3 * (i + 1) * p[i];
    }
    free(p);
    free(work);
    free(b);
    free(a);
    return info == 0 ? sum : 1000 + info;
}

/* A matrix whose pivot is zero: what `info` says, of the derivative and of the library. */
T singular(const T *v, int up)
{
    int n = 3, two = 2, info = 0, size = 192, p[3];
    T a[9] = {0}, b[6] = {1, 2, 3, 4, 5, 6}, work[192];
    char uplo = up ? 'U' : 'L';
    a[0] = v[0], a[8] = v[1];
    dsysv_(&uplo, &n, &two, a, &n, p, b, &n, work, &size, &info);
    return a[0] * a[8] + 10 * info + b[5];
}
