/* QR factors and least squares in all ways: from a matrix, m times n, and a right hand side in v to one number. */
#include <math.h>
#include <stdlib.h>
typedef double T;
#define MOST(a, b) ((a) > (b) ? (a) : (b))
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
void dgeqrf_(const int *, const int *, T *, const int *, T *, T *, const int *, int *);
void dorgqr_(const int *, const int *, const int *, T *, const int *, const T *, T *, const int *, int *);
void dormqr_(const char *, const char *, const int *, const int *, const int *, const T *, const int *, const T *, T *,
             const int *, T *, const int *, int *, long, long);
void dgels_(const char *, const int *, const int *, const int *, T *, const int *, T *, const int *, T *, const int *, int *);
#ifndef FORTRAN_ONLY
int LAPACKE_dgeqrf(int, int, int, T *, int, T *);
int LAPACKE_dorgqr(int, int, int, int, T *, int, const T *);
int LAPACKE_dormqr(int, char, char, int, int, int, const T *, int, const T *, T *, int);
int LAPACKE_dgels(int, char, int, int, int, T *, int, T *, int);
#endif

enum { GEQRF, ORGQR, ORMQR, GELS };

T program(const T *v, int m, int n, int which, int style, int turned, int right)
{
    int two = 2, p = MOST(m, n), k = LEAST(m, n), info = 0, order = style == 2 ? 101 : 102, size = 64 * (p + 2);
    int lda = style == 2 ? n + 1 : m + 1, ldc = style == 2 ? (right ? p : 2) + 1 : (right ? 2 : p) + 1;
    int rows = right ? 2 : which == GELS ? p : m, columns = right ? m : 2;
    T *a = malloc(sizeof(T) * (p + 1) * (p + 1)), *c = malloc(sizeof(T) * (p + 1) * 4), *tau = malloc(sizeof(T) * p);
    T *work = malloc(sizeof(T) * size), sum = 0;
    char trans = turned ? 'T' : 'N', side = right ? 'R' : 'L';
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            a[style == 2 ? i * lda + j : i + j * lda] = v[i + j * m];
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            c[style == 2 ? i * ldc + j : i + j * ldc] = v[m * n + i + j * rows];
    for (int i = 0; i < p; i++)
        tau[i] = 0;
    if (style == 0) {
        if (which == GELS)
            dgels_(&trans, &m, &n, &two, a, &lda, c, &ldc, work, &size, &info);
        else
            dgeqrf_(&m, &n, a, &lda, tau, work, &size, &info);
        if (which == ORMQR)
            dormqr_(&side, &trans, &rows, &columns, &k, a, &lda, tau, c, &ldc, work, &size, &info, 1, 1);
        if (which == ORGQR)
            dorgqr_(&m, &k, &k, a, &lda, tau, work, &size, &info);
    }
#ifndef FORTRAN_ONLY
    else {
        if (which == GELS)
            info = LAPACKE_dgels(order, trans, m, n, 2, a, lda, c, ldc);
        else
            info = LAPACKE_dgeqrf(order, m, n, a, lda, tau);
        if (which == ORMQR)
            info += LAPACKE_dormqr(order, side, trans, rows, columns, k, a, lda, tau, c, ldc);
        if (which == ORGQR)
            info += LAPACKE_dorgqr(order, m, k, k, a, lda, tau);
    }
#endif
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            sum += sin(i + 2 * j + 1) * a[style == 2 ? i * lda + j : i + j * lda] / n;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            sum += cos(3 * i + j) * c[style == 2 ? i * ldc + j : i + j * ldc];
    for (int i = 0; i < k; i++)
        sum += tau[i] * i;
    free(a);
    free(c);
    free(tau);
    free(work);
    return info == 0 ? sum : NAN;
}
/* Least squares by triangles: what is zero already has derivatives. */
T triangular(const T *v, int n)
{
    int one = 1, info, size = 64 * n;
    T *a = malloc(sizeof(T) * n * n), *b = malloc(sizeof(T) * n), *work = malloc(sizeof(T) * size), sum = 0;
    for (int i = 0; i < n * n; i++)
        a[i] = v[i];
    for (int i = 0; i < n; i++)
        b[i] = v[n * n + i];
    dgels_("N", &n, &n, &one, a, &n, b, &n, work, &size, &info);
    for (int i = 0; i < n; i++)
        sum += b[i] * b[i] / (i + 1);
    free(a);
    free(b);
    free(work);
    return sum;
}
