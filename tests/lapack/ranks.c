/* Least squares by dgelsd, or dgelss: of a matrix in v, as it is or as a product of m times r and r times n. */
#include <math.h>
#include <stdlib.h>
typedef double T;
typedef const int *I;
void dgelsd_(I, I, I, T *, I, T *, I, T *, const T *, int *, T *, I, int *, int *);
#ifndef FORTRAN_ONLY
int LAPACKE_dgelsd(int, int, int, int, T *, int, T *, int, T *, T, int *);
int LAPACKE_dgelss(int, int, int, int, T *, int, T *, int, T *, T, int *);
#endif
#ifdef GELSS /* which takes no integers */
void dgelss_(I, I, I, T *, I, T *, I, T *, const T *, int *, T *, I, int *);
#define dgelsd_(m, n, two, a, lda, b, ldb, s, least, rank, work, asked, integers, info) \
    dgelss_(m, n, two, a, lda, b, ldb, s, least, rank, work, asked, info)
#define LAPACKE_dgelsd LAPACKE_dgelss
#endif

T program(const T *v, int m, int n, int r, int style, int values, T least)
{
    int info = 0, two = 2, rank = 0, lda = (style == 2 ? n : m) + 1, most = m > n ? m : n, ldb = style == 2 ? 3 : most + 1;
    int asked = -1, count = 0;
    T *a = malloc(sizeof(T) * (m + 1) * (n + 1)), *b = malloc(sizeof(T) * (most + 1) * 3), *s = malloc(sizeof(T) * most), size;
    T sum = 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            T x = r ? 0 : v[i + j * m];
            for (int k = 0; k < r; k++) x += v[i + k * m] * v[r * m + k + j * r];
            a[style == 2 ? i * lda + j : i + j * lda] = x;
        }
    for (int i = 0; i < most; i++)
        for (int j = 0; j < 2; j++) b[style == 2 ? i * ldb + j : i + j * ldb] = i < m ? v[(r ? r * (m + n) : m * n) + i + j * m] : 0;
    if (style == 0) {
        dgelsd_(&m, &n, &two, a, &lda, b, &ldb, s, &least, &rank, &size, &asked, &count, &info);
        asked = (int)size + 500;
        T *work = malloc(sizeof(T) * asked);
        int *integers = malloc(sizeof(int) * (count + 100));
        dgelsd_(&m, &n, &two, a, &lda, b, &ldb, s, &least, &rank, work, &asked, integers, &info);
        free(work);
        free(integers);
    }
#ifndef FORTRAN_ONLY
    else
        info = LAPACKE_dgelsd(style == 2 ? 101 : 102, m, n, 2, a, lda, b, ldb, s, least, &rank);
#endif
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 2; j++) {
            T x = b[style == 2 ? i * ldb + j : i + j * ldb];
            sum += sin(i + 2 * j + 1) * x * x;
        }
    for (int i = 0; i < rank && values; i++) sum += (i + 1) * s[i];
    free(a);
    free(b);
    free(s);
    return info == 0 ? sum + 0 * rank : NAN;
}
