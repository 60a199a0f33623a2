/* Routines of BLAS on band and packed matrices and on complex numbers, in all ways: to one number that depends on all memory. */
#include <complex.h>
#include <math.h>
#define V const double *
#define P double *
#undef I
#define I const int *
#define C const char *
typedef double _Complex Z;
void dgbmv_(C, I, I, I, I, V, V, I, V, I, V, P, I);
void dsbmv_(C, I, I, V, V, I, V, I, V, P, I);
void dspmv_(C, I, V, V, V, I, V, P, I);
void dspr_(C, I, V, V, I, P);
void dspr2_(C, I, V, V, I, V, I, P);
void dtbmv_(C, C, C, I, I, V, I, P, I);
void dtbsv_(C, C, C, I, I, V, I, P, I);
void dtpmv_(C, C, C, I, V, P, I);
void dtpsv_(C, C, C, I, V, P, I);
Z zdotu_(I, V, I, V, I);
Z zdotc_(I, V, I, V, I);
void zaxpy_(I, V, V, I, P, I);
void zscal_(I, V, P, I);
void zdscal_(I, V, P, I);
void zcopy_(I, V, I, P, I);
void zswap_(I, P, I, P, I);
double dznrm2_(I, V, I);
double dzasum_(I, V, I);
void zgemv_(C, I, I, V, V, I, V, I, V, P, I);
void zgeru_(I, I, V, V, I, V, I, P, I);
void zgerc_(I, I, V, V, I, V, I, P, I);
void zgemm_(C, C, I, I, I, V, V, I, V, I, V, P, I);
void cblas_dgbmv(int, int, int, int, int, int, double, V, int, V, int, double, P, int);
void cblas_dsbmv(int, int, int, int, double, V, int, V, int, double, P, int);
void cblas_dspmv(int, int, int, double, V, V, int, double, P, int);
void cblas_dspr(int, int, int, double, V, int, P);
void cblas_dspr2(int, int, int, double, V, int, V, int, P);
void cblas_dtbmv(int, int, int, int, int, int, V, int, P, int);
void cblas_dtbsv(int, int, int, int, int, int, V, int, P, int);
void cblas_dtpmv(int, int, int, int, int, V, P, int);
void cblas_dtpsv(int, int, int, int, int, V, P, int);
void cblas_zdotu_sub(int, V, int, V, int, P);
void cblas_zdotc_sub(int, V, int, V, int, P);
void cblas_zaxpy(int, V, V, int, P, int);
void cblas_zscal(int, V, P, int);
void cblas_zdscal(int, double, P, int);
void cblas_zcopy(int, V, int, P, int);
void cblas_zswap(int, P, int, P, int);
double cblas_dznrm2(int, V, int);
double cblas_dzasum(int, V, int);
void cblas_zgemv(int, int, int, int, V, V, int, V, int, V, P, int);
void cblas_zgeru(int, int, int, V, V, int, V, int, P, int);
void cblas_zgerc(int, int, int, V, V, int, V, int, P, int);
void cblas_zgemm(int, int, int, int, int, int, V, V, int, V, int, V, P, int);

enum { GBMV, SBMV, SPMV, SPR, SPR2, TBMV, TBSV, TPMV, TPSV, DOTU, DOTC, AXPY, SCAL, DSCAL, COPY, SWAP, NRM2, ASUM, GEMV, GERU,
       GERC, GEMM };

/* v: 80 numbers of a matrix, 40 of x, 40 of y, then alpha and beta; style: Fortran, by columns, by rows; trans: N, T, C */
double program(const double *v, int which, int style, int up, int trans, int unit, int incx, int incy)
{
    double a[80], x[40], y[40], sum = 0;
    const double *alpha = v + 160, *beta = v + 162;
    int m = 3, n = 4, k = 2, kl = 1, lda = 6, order = style == 2 ? 101 : 102;
    char uplo = up ? 'U' : 'l', diag = unit ? 'U' : 'N', t = "NTC"[trans], other = "CNT"[trans];
    int U = up ? 121 : 122, D = unit ? 132 : 131, T = 111 + trans, O = 111 + (trans + 2) % 3;
    for (int i = 0; i < 80; i++)
        a[i] = v[i];
    for (int i = 0; i < 40; i++)
        x[i] = v[80 + i], y[i] = v[120 + i];
    if (style == 0)
        switch (which) {
        case GBMV: dgbmv_(&t, &m, &n, &kl, &k, alpha, a, &lda, x, &incx, beta, y, &incy); break;
        case SBMV: dsbmv_(&uplo, &n, &k, alpha, a, &lda, x, &incx, beta, y, &incy); break;
        case SPMV: dspmv_(&uplo, &n, alpha, a, x, &incx, beta, y, &incy); break;
        case SPR: dspr_(&uplo, &n, alpha, x, &incx, a); break;
        case SPR2: dspr2_(&uplo, &n, alpha, x, &incx, y, &incy, a); break;
        case TBMV: dtbmv_(&uplo, &t, &diag, &n, &k, a, &lda, x, &incx); break;
        case TBSV: dtbsv_(&uplo, &t, &diag, &n, &k, a, &lda, x, &incx); break;
        case TPMV: dtpmv_(&uplo, &t, &diag, &n, a, x, &incx); break;
        case TPSV: dtpsv_(&uplo, &t, &diag, &n, a, x, &incx); break;
        case DOTU: { Z r = zdotu_(&n, x, &incx, y, &incy); sum += creal(r) + 2 * cimag(r); break; }
        case DOTC: { Z r = zdotc_(&n, x, &incx, y, &incy); sum += creal(r) + 2 * cimag(r); break; }
        case AXPY: zaxpy_(&n, alpha, x, &incx, y, &incy); break;
        case SCAL: zscal_(&n, alpha, x, &incx); break;
        case DSCAL: zdscal_(&n, alpha, x, &incx); break;
        case COPY: zcopy_(&n, x, &incx, y, &incy); break;
        case SWAP: zswap_(&n, x, &incx, y, &incy); break;
        case NRM2: sum += dznrm2_(&n, x, &incx); break;
        case ASUM: sum += dzasum_(&n, x, &incx); break;
        case GEMV: zgemv_(&t, &m, &n, alpha, a, &lda, x, &incx, beta, y, &incy); break;
        case GERU: zgeru_(&m, &n, alpha, x, &incx, y, &incy, a, &lda); break;
        case GERC: zgerc_(&m, &n, alpha, x, &incx, y, &incy, a, &lda); break;
        case GEMM: zgemm_(&t, &other, &m, &n, &k, alpha, a, &lda, x, &n, beta, y, &n); break;
        }
    else
        switch (which) {
        case GBMV: cblas_dgbmv(order, T, m, n, kl, k, *alpha, a, lda, x, incx, *beta, y, incy); break;
        case SBMV: cblas_dsbmv(order, U, n, k, *alpha, a, lda, x, incx, *beta, y, incy); break;
        case SPMV: cblas_dspmv(order, U, n, *alpha, a, x, incx, *beta, y, incy); break;
        case SPR: cblas_dspr(order, U, n, *alpha, x, incx, a); break;
        case SPR2: cblas_dspr2(order, U, n, *alpha, x, incx, y, incy, a); break;
        case TBMV: cblas_dtbmv(order, U, T, D, n, k, a, lda, x, incx); break;
        case TBSV: cblas_dtbsv(order, U, T, D, n, k, a, lda, x, incx); break;
        case TPMV: cblas_dtpmv(order, U, T, D, n, a, x, incx); break;
        case TPSV: cblas_dtpsv(order, U, T, D, n, a, x, incx); break;
        case DOTU: cblas_zdotu_sub(n, x, incx, y, incy, a); break;
        case DOTC: cblas_zdotc_sub(n, x, incx, y, incy, a); break;
        case AXPY: cblas_zaxpy(n, alpha, x, incx, y, incy); break;
        case SCAL: cblas_zscal(n, alpha, x, incx); break;
        case DSCAL: cblas_zdscal(n, *alpha, x, incx); break;
        case COPY: cblas_zcopy(n, x, incx, y, incy); break;
        case SWAP: cblas_zswap(n, x, incx, y, incy); break;
        case NRM2: sum += cblas_dznrm2(n, x, incx); break;
        case ASUM: sum += cblas_dzasum(n, x, incx); break;
        case GEMV: cblas_zgemv(order, T, m, n, alpha, a, lda, x, incx, beta, y, incy); break;
        case GERU: cblas_zgeru(order, m, n, alpha, x, incx, y, incy, a, lda); break;
        case GERC: cblas_zgerc(order, m, n, alpha, x, incx, y, incy, a, lda); break;
        case GEMM: cblas_zgemm(order, T, O, m, n, k, alpha, a, lda, x, n, beta, y, n); break;
        }
    for (int i = 0; i < 80; i++)
        sum += sin(i) * a[i];
    for (int i = 0; i < 40; i++)
        sum += cos(i) * x[i] + cos(2 * i + 1) * y[i];
    return sum;
}
