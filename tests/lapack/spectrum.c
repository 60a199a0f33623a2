/* Eigenvalues and eigenvectors in all ways: from a matrix in v, of which one triangle counts, to one number. */
#include <math.h>
#include <stdlib.h>
typedef double T;
void dsyev_(const char *, const char *, const int *, T *, const int *, T *, T *, const int *, int *);
void dsyevd_(const char *, const char *, const int *, T *, const int *, T *, T *, const int *, int *, const int *, int *, long,
             long);
#ifndef FORTRAN_ONLY
int LAPACKE_dsyev(int, char, char, int, T *, int, T *);
int LAPACKE_dsyevd(int, char, char, int, T *, int, T *);
#endif

T program(const T *v, int n, int conquer, int style, int vectors, int up)
{
    int info = 0, asked = -1, lda = n + 1, integers;
    T *a = malloc(sizeof(T) * lda * n), *w = malloc(sizeof(T) * n), size, sum = 0;
    char job = vectors ? 'V' : 'N', uplo = up ? 'U' : 'L';
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            a[style == 2 ? i * lda + j : i + j * lda] = v[i + j * n];
    if (style == 0 && conquer) {
        dsyevd_(&job, &uplo, &n, a, &lda, w, &size, &asked, &integers, &asked, &info, 1, 1);
        asked = size;
        T *work = malloc(sizeof(T) * asked);
        int *more = malloc(sizeof(int) * integers);
        dsyevd_(&job, &uplo, &n, a, &lda, w, work, &asked, more, &integers, &info, 1, 1);
        free(work);
        free(more);
    } else if (style == 0) {
        dsyev_(&job, &uplo, &n, a, &lda, w, &size, &asked, &info);
        asked = size;
        T *work = malloc(sizeof(T) * asked);
        dsyev_(&job, &uplo, &n, a, &lda, w, work, &asked, &info);
        free(work);
    }
#ifndef FORTRAN_ONLY
    else
        info = (conquer ? LAPACKE_dsyevd : LAPACKE_dsyev)(style == 2 ? 101 : 102, job, uplo, n, a, lda, w);
#endif
    for (int j = 0; j < n; j++) {
        sum += cos(3 * j) * w[j] * w[j];
        for (int i = 0; i < n && vectors; i++) { /* of either sign */
            T x = a[style == 2 ? i * lda + j : i + j * lda], first = a[style == 2 ? j : j * lda];
            sum += sin(i + 2 * j + 1) * x * first * w[j];
        }
    }
    free(a);
    free(w);
    return info == 0 ? sum : NAN;
}
/* The sum of the exponentials of all eigenvalues, and how much of the first vector is along the first axis. */
T exponentials(const T *v, int n, int vectors)
{
    int info, size = 64 * n;
    T *a = malloc(sizeof(T) * n * n), *w = malloc(sizeof(T) * n), *work = malloc(sizeof(T) * size), sum = 0;
    for (int i = 0; i < n * n; i++)
        a[i] = v[i];
    dsyev_(vectors ? "V" : "N", "U", &n, a, &n, w, work, &size, &info);
    for (int i = 0; i < n; i++)
        sum += exp(w[i]);
    sum += vectors == 2 ? a[0] * a[0] : 0;
    free(a);
    free(w);
    free(work);
    return sum;
}
