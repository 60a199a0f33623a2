/* Norms and condition numbers: from a matrix in v to one number. `which` is the place in the list of test_lapack.py. */
#include <math.h>
#include <stdlib.h>
typedef double T;
typedef const int *I;
typedef const char *C;
T dlange_(C, I, I, const T *, I, T *, long), dlansy_(C, C, I, const T *, I, T *, long, long);
T dlantr_(C, C, C, I, I, const T *, I, T *, long, long, long);
T dlangb_(C, I, I, I, const T *, I, T *, long), dlansb_(C, C, I, I, const T *, I, T *, long, long);
void dgetrf_(I, I, T *, I, int *, int *), dpotrf_(C, I, T *, I, int *, long);
void dgecon_(C, I, const T *, I, const T *, T *, T *, int *, int *, long);
void dpocon_(C, I, const T *, I, const T *, T *, T *, int *, int *, long);
void dtrcon_(C, C, C, I, const T *, I, T *, T *, int *, int *, long, long, long);
void dtrtri_(C, C, I, T *, I, int *, long, long);
#ifndef FORTRAN_ONLY
T LAPACKE_dlange(int, char, int, int, const T *, int), LAPACKE_dlansy(int, char, char, int, const T *, int);
int LAPACKE_dgetrf(int, int, int, T *, int, int *), LAPACKE_dpotrf(int, char, int, T *, int);
int LAPACKE_dgecon(int, char, int, const T *, int, T, T *), LAPACKE_dpocon(int, char, int, const T *, int, T, T *);
int LAPACKE_dtrtri(int, char, char, int, T *, int);
#endif

T program(const T *v, int n, int which, int style, int kind, int up, int unit)
{
    int info = 0, lda = n + 2, k = 2, m = n + 1, *pivots = malloc(sizeof(int) * n), *integers = malloc(sizeof(int) * n);
    int order = style == 2 ? 101 : 102;
    T *a = malloc(sizeof(T) * lda * (n + 1)), *work = malloc(sizeof(T) * 4 * lda), found = 0, norm;
    char name = "M1IF"[kind], uplo = up ? 'U' : 'L', diag = unit ? 'U' : 'N';
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            int r = i < n ? i : 0;
            T x = which == 4 || which == 7 ? v[i < j ? r + j * n : j + r * n] + (i == j ? 4 * n : 0) : v[r + j * n] * (1 + i / n);
            a[order == 101 ? i * lda + j : i + j * lda] = x;
        }
    switch (style ? which + 20 : which) {
    case 0: found = dlange_(&name, &m, &n, a, &lda, work, 1); break;
    case 1: found = dlansy_(&name, &uplo, &n, a, &lda, work, 1, 1); break;
    case 2: found = dlantr_(&name, &uplo, &diag, &n, &n, a, &lda, work, 1, 1, 1); break;
    case 3: found = dlangb_(&name, &n, &k, &k, a, &lda, work, 1); break;
    case 4: found = dlansb_(&name, &uplo, &n, &k, a, &lda, work, 1, 1); break;
    case 5: found = dlange_(&name, &n, &n, a, &lda, work, 1);
        dgetrf_(&n, &n, a, &lda, pivots, &info);
        dgecon_(&name, &n, a, &lda, &found, &norm, work, integers, &info, 1);
        found = norm * norm;
        break;
    case 6: dtrcon_(&name, &uplo, &diag, &n, a, &lda, &found, work, integers, &info, 1, 1, 1); break;
    case 7: norm = dlansy_("1", &uplo, &n, a, &lda, work, 1, 1);
        dpotrf_(&uplo, &n, a, &lda, &info, 1);
        dpocon_(&uplo, &n, a, &lda, &norm, &found, work, integers, &info, 1);
        break;
    case 8: dtrtri_(&uplo, &diag, &n, a, &lda, &info, 1, 1); break;
#ifndef FORTRAN_ONLY
    case 20: found = LAPACKE_dlange(order, name, m, n, a, lda); break;
    case 21: found = LAPACKE_dlansy(order, name, uplo, n, a, lda); break;
    case 25: norm = LAPACKE_dlange(order, name, n, n, a, lda);
        LAPACKE_dgetrf(order, n, n, a, lda, pivots);
        info = LAPACKE_dgecon(order, name, n, a, lda, norm, &found);
        found *= found;
        break;
    case 27: norm = LAPACKE_dlansy(order, '1', uplo, n, a, lda);
        LAPACKE_dpotrf(order, uplo, n, a, lda);
        info = LAPACKE_dpocon(order, uplo, n, a, lda, norm, &found);
        break;
    case 28: info = LAPACKE_dtrtri(order, uplo, diag, n, a, lda); break;
#endif
    }
    for (int j = 0; j < n && which == 8; j++)
        for (int i = up ? 0 : j; i < (up ? j + 1 : n); i++) {
            T x = a[order == 101 ? i * lda + j : i + j * lda];
            found += sin(i + 2 * j) * x * x;
        }
    free(pivots);
    free(integers);
    free(a);
    free(work);
    return info == 0 ? found : NAN;
}
