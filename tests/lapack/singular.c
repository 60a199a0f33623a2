/* Singular values and vectors by dgesvd and dgesdd: of a matrix in v, by columns or by rows, weighed by place. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
typedef double T;
typedef const int *I;
typedef const char *C;
void dgesvd_(C, C, I, I, T *, I, T *, T *, I, T *, I, T *, I, int *);
void dgesdd_(C, I, I, T *, I, T *, T *, I, T *, I, T *, I, int *, int *);
#ifndef FORTRAN_ONLY
int LAPACKE_dgesvd(int, char, char, int, int, T *, int, T *, T *, int, T *, int, T *);
int LAPACKE_dgesdd(int, char, int, int, T *, int, T *, T *, int, T *, int);
#endif
static const char jobs[][3] = {"SS", "AA", "NN", "OS", "SO", "NS", "OO"};

T program(const T *v, int m, int n, int which, int style, int kind)
{
    int info = 0, q = m < n ? m : n, most = m > n ? m : n, lda = (style == 2 ? n : m) + 1, ld = most + 2, asked = -1, rows = style == 2;
    char left = jobs[kind][0], right = jobs[kind][1];
    T *a = malloc(sizeof(T) * (most + 1) * (most + 1)), *s = calloc(most, sizeof(T)), *u = calloc(ld * ld, sizeof(T));
    T *w = calloc(ld * ld, sizeof(T)), size, sum = 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) a[rows ? i * lda + j : i + j * lda] = v[i + j * m];
    if (style == 0) {
        int *integers = malloc(sizeof(int) * 8 * q);
        if (which) dgesdd_(&left, &m, &n, a, &lda, s, u, &ld, w, &ld, &size, &asked, integers, &info);
        else dgesvd_(&left, &right, &m, &n, a, &lda, s, u, &ld, w, &ld, &size, &asked, &info);
        asked = (int)size + 5 * most * most;
        T *work = malloc(sizeof(T) * asked);
        if (which) dgesdd_(&left, &m, &n, a, &lda, s, u, &ld, w, &ld, work, &asked, integers, &info);
        else dgesvd_(&left, &right, &m, &n, a, &lda, s, u, &ld, w, &ld, work, &asked, &info);
        free(work);
        free(integers);
    }
#ifndef FORTRAN_ONLY
    else if (which)
        info = LAPACKE_dgesdd(rows ? 101 : 102, left, m, n, a, lda, s, u, ld, w, ld);
    else {
        T *rest = malloc(sizeof(T) * q);
        info = LAPACKE_dgesvd(rows ? 101 : 102, left, right, m, n, a, lda, s, u, ld, w, ld, rest);
        free(rest);
    }
#endif
    int over_u = which ? left == 'O' && m >= n : left == 'O', over_w = which ? left == 'O' && m < n : right == 'O';
    int no_u = left == 'N', no_w = which ? left == 'N' : right == 'N';
    for (int i = 0; i < q; i++) sum += sin(i + 1) * s[i];
    for (int j = 0; j < q; j++) {
        T left_sum = 0, right_sum = 0;
        for (int i = 0; i < m && !no_u; i++)
            left_sum += cos(i + 3 * j + 1) * (over_u ? a[rows ? i * lda + j : i + j * lda] : u[rows ? i * ld + j : i + j * ld]);
        for (int i = 0; i < n && !no_w; i++)
            right_sum += cos(2 * i + 5 * j + 2) * (over_w ? a[rows ? j * lda + i : j + i * lda] : w[rows ? j * ld + i : j + i * ld]);
        sum += left_sum * left_sum + right_sum * (right_sum + 3 * left_sum); /* the sign of a pair is the library's whim */
    }
    free(a);
    free(s);
    free(u);
    free(w);
    return info == 0 ? sum : NAN;
}
