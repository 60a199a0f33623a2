/* Eigenvalues and eigenvectors of Hermitian matrices: from v to one number that depends on all that is written. */
#include <complex.h>
#include <math.h>
#include <stdlib.h>
typedef double complex C;
typedef const int *In;
void zheev_(const char *, const char *, In, C *, In, double *, C *, In, double *, int *);
void zheevd_(const char *, const char *, In, C *, In, double *, C *, In, double *, In, int *, In, int *);
#ifndef FORTRAN_ONLY
int LAPACKE_zheev(int, char, char, int, C *, int, double *);
int LAPACKE_zheevd(int, char, char, int, C *, int, double *);
#endif

/* v: the real and imaginary parts of n * n numbers. `divided`: by heevd. `vectors`: 0 for none, 1 for what does not change with their
 * phases, 2 for all. */
double program(const double *v, int n, int style, int up, int divided, int vectors)
{
    int ld = n + 1, info = 0, size = 4 * n * n + 64, order = style == 2 ? 101 : 102;
    C *a = malloc(sizeof(C) * ld * n), *work = malloc(sizeof(C) * size);
    double *w = malloc(sizeof(double) * n), *real = malloc(sizeof(double) * size), sum = 0;
    int *integers = malloc(sizeof(int) * size);
    char uplo = up ? 'U' : 'L', job = vectors ? 'V' : 'N';
#define A(i, j) a[style == 2 ? (i) * ld + (j) : (i) + (j) * ld]
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            A(i, j) = (up ? i > j : i < j) ? NAN : v[i + j * n] + _Complex_I * v[n * n + i + j * n] * (i != j);
    if (style == 0 && divided) zheevd_(&job, &uplo, &n, a, &ld, w, work, &size, real, &size, integers, &size, &info);
    else if (style == 0) zheev_(&job, &uplo, &n, a, &ld, w, work, &size, real, &info);
#ifndef FORTRAN_ONLY
    else info = (divided ? LAPACKE_zheevd : LAPACKE_zheev)(order, job, uplo, n, a, ld, w);
#endif
    for (int j = 0; j < n; j++) sum += sin(j + 1.0) * w[j] * w[j];
    for (int i = 0; i < n && vectors; i++)
        for (int j = 0; j < n; j++) {
            double re = creal(A(i, j)), im = cimag(A(i, j));
            sum += vectors == 1 ? cos(i + 3.0 * j) * (re * re + im * im) : sin(i + 2.0 * j + 1) * re * re + cos(i + j) * re * im;
        }
    free(integers);
    free(real);
    free(w);
    free(work);
    free(a);
    return info == 0 ? sum : NAN;
}
