/* Complex matrices in all ways: from one and two right hand sides in v to one number that depends on all that is written. */
#include <complex.h>
#include <math.h>
#include <stdlib.h>
typedef double _Complex Z;
void zpotrf_(const char *, const int *, Z *, const int *, int *);
void zpotrs_(const char *, const int *, const int *, const Z *, const int *, Z *, const int *, int *);
void zposv_(const char *, const int *, const int *, Z *, const int *, Z *, const int *, int *);
void zgetrf_(const int *, const int *, Z *, const int *, int *, int *);
void zgetrs_(const char *, const int *, const int *, const Z *, const int *, const int *, Z *, const int *, int *, long);
void zgesv_(const int *, const int *, Z *, const int *, int *, Z *, const int *, int *);
#ifndef FORTRAN_ONLY
int LAPACKE_zpotrf(int, char, int, Z *, int);
int LAPACKE_zpotrs(int, char, int, int, const Z *, int, Z *, int);
int LAPACKE_zposv(int, char, int, int, Z *, int, Z *, int);
int LAPACKE_zgetrf(int, int, int, Z *, int, int *);
int LAPACKE_zgetrs(int, char, int, int, const Z *, int, const int *, Z *, int);
int LAPACKE_zgesv(int, int, int, Z *, int, int *, Z *, int);
#endif

enum { POTRF, POTRS, POSV, GETRF, GETRS, GESV };

double program(const double *v, int n, int which, int style, int up, int trans)
{
    int two = 2, ld = n + 1, ldb = style == 2 ? 3 : n + 2, info = 0, order = style == 2 ? 101 : 102;
    Z *a = malloc(sizeof(Z) * ld * n), *b = malloc(sizeof(Z) * (3 * n + 4)), sum = 0;
    int *p = malloc(sizeof(int) * n);
    char uplo = up ? 'U' : 'L', turned = "NTC"[trans];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            a[style == 2 ? i * ld + j : i + j * ld] =
                v[2 * (i + j * n)] + I * v[2 * (i + j * n) + 1] + (which < GETRF && i == j ? 3 * n : 0);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 2; j++)
            b[style == 2 ? i * ldb + j : i + j * ldb] = v[2 * (n * n + i + j * n)] + I * v[2 * (n * n + i + j * n) + 1];
    if (style == 0)
        switch (which) {
        case POTRF: zpotrf_(&uplo, &n, a, &ld, &info); break;
        case POTRS: zpotrs_(&uplo, &n, &two, a, &ld, b, &ldb, &info); break;
        case POSV: zposv_(&uplo, &n, &two, a, &ld, b, &ldb, &info); break;
        case GETRF: zgetrf_(&n, &n, a, &ld, p, &info); break;
        case GETRS:
            zgetrf_(&n, &n, a, &ld, p, &info);
            zgetrs_(&turned, &n, &two, a, &ld, p, b, &ldb, &info, 1);
            break;
        case GESV: zgesv_(&n, &two, a, &ld, p, b, &ldb, &info); break;
        }
#ifndef FORTRAN_ONLY
    else
        switch (which) {
        case POTRF: info = LAPACKE_zpotrf(order, uplo, n, a, ld); break;
        case POTRS: info = LAPACKE_zpotrs(order, uplo, n, 2, a, ld, b, ldb); break;
        case POSV: info = LAPACKE_zposv(order, uplo, n, 2, a, ld, b, ldb); break;
        case GETRF: info = LAPACKE_zgetrf(order, n, n, a, ld, p); break;
        case GETRS:
            info = LAPACKE_zgetrf(order, n, n, a, ld, p);
            info += LAPACKE_zgetrs(order, turned, n, 2, a, ld, p, b, ldb);
            break;
        case GESV: info = LAPACKE_zgesv(order, n, 2, a, ld, p, b, ldb); break;
        }
#endif
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            sum += (sin(i + 2 * j) + I * cos(j)) * a[style == 2 ? i * ld + j : i + j * ld] / n;
        for (int j = 0; j < 2; j++)
            sum += (cos(3 * i + j) - I * j) * b[style == 2 ? i * ldb + j : i + j * ldb];
    }
    free(a);
    free(b);
    free(p);
    return info == 0 ? creal(sum) + 2 * cimag(sum) : NAN;
}
