/* Eigenvalues and eigenvectors by dgeev: of a matrix in v, by columns or by rows, weighed by place. */
#include <math.h>
#include <stdlib.h>
typedef double T;
typedef const int *I;
typedef const char *C;
void dgeev_(C, C, I, T *, I, T *, T *, T *, I, T *, I, T *, I, int *);
#ifndef FORTRAN_ONLY
int LAPACKE_dgeev(int, char, char, int, T *, int, T *, T *, T *, int, T *, int);
#endif

T program(const T *v, int n, int style, int lefts, int rights)
{
    int info = 0, lda = n + 1, ld = n + 2, asked = -1, rows = style == 2;
    char left = lefts ? 'V' : 'N', right = rights ? 'V' : 'N';
    T *a = malloc(sizeof(T) * n * lda), *wr = malloc(sizeof(T) * n), *wi = malloc(sizeof(T) * n), size, sum = 0;
    T *vl = calloc(n * ld, sizeof(T)), *vr = calloc(n * ld, sizeof(T));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) a[rows ? i * lda + j : i + j * lda] = v[i + j * n];
    if (style == 0) {
        dgeev_(&left, &right, &n, a, &lda, wr, wi, vl, &ld, vr, &ld, &size, &asked, &info);
        asked = (int)size + 4 * n;
        T *work = malloc(sizeof(T) * asked);
        dgeev_(&left, &right, &n, a, &lda, wr, wi, vl, &ld, vr, &ld, work, &asked, &info);
        free(work);
    }
#ifndef FORTRAN_ONLY
    else
        info = LAPACKE_dgeev(rows ? 101 : 102, left, right, n, a, lda, wr, wi, vl, ld, vr, ld);
#endif
    for (int i = 0; i < n; i++) sum += sin(i + 1) * wr[i] + cos(3 * i + 1) * wi[i];
    for (int j = 0; j < n; j++) {
        T left_sum = 0, right_sum = 0;
        for (int i = 0; i < n; i++) {
            if (lefts) left_sum += cos(i + 3 * j + 1) * vl[rows ? i * ld + j : i + j * ld];
            if (rights) right_sum += cos(2 * i + 5 * j + 2) * vr[rows ? i * ld + j : i + j * ld];
        }
        sum += left_sum * left_sum + right_sum * right_sum; /* the sign of a vector is the library's whim */
    }
    free(a);
    free(wr);
    free(wi);
    free(vl);
    free(vr);
    return info == 0 ? sum : NAN;
}
