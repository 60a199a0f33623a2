/* Band and packed matrices for one type, element by element. Included by lapack.c, which has the names. */

/* Element i of a vector of n, whose increment may be negative. */
#define OF(x, n, inc, i) ((x)[(inc) < 0 ? (long)((i) - (n) + 1) * (inc) : (long)(i) * (inc)])

/* Where element (i, j) of a triangle is: packed (lda 0), or in a band with k diagonals beside the first. */
static inline long OWN(place)(int up, int n, int k, int lda, long i, long j) {
    if (lda == 0) return up ? i + j * (j + 1) / 2 : i + j * (2L * n - j - 1) / 2;
    return up ? k + i - j + j * lda : i - j + j * lda;
}

static inline void OWN(rescale)(int n, T beta, T *y, int incy) {
    for (int i = 0; i < n; i++) {
        if (beta == 0) OF(y, n, incy, i) = 0;
        else if (beta != 1) OF(y, n, incy, i) *= beta;
    }
}

/* y = alpha op(a) x + beta y, with kl diagonals below and ku above */
static void OWN(gbmv)(int t, int m, int n, int kl, int ku, T alpha, const T *a, int lda, const T *x, int incx, T beta, T *y,
                      int incy) {
    int nx = t ? m : n, ny = t ? n : m;
    OWN(rescale)(ny, beta, y, incy);
    for (int j = 0; j < n; j++)
        for (int i = MOST(0, j - ku); i < LEAST(m, j + kl + 1); i++) {
            T v = alpha * a[ku + i - j + (long)j * lda];
            OF(y, ny, incy, t ? j : i) += v * OF(x, nx, incx, t ? i : j);
        }
}

/* y = alpha a x + beta y, of a symmetric matrix */
static void OWN(symmetric)(int up, int n, int k, T alpha, const T *a, int lda, const T *x, int incx, T beta, T *y, int incy) {
    OWN(rescale)(n, beta, y, incy);
    for (int j = 0; j < n; j++)
        for (int i = up ? MOST(0, j - k) : j; i < (up ? j + 1 : LEAST(n, j + k + 1)); i++) {
            T v = alpha * a[OWN(place)(up, n, k, lda, i, j)];
            OF(y, n, incy, i) += v * OF(x, n, incx, j);
            if (i != j) OF(y, n, incy, j) += v * OF(x, n, incx, i);
        }
}

/* a += alpha (x y' + y x'), packed; or alpha x x' without y */
static void OWN(update)(int up, int n, T alpha, const T *x, int incx, const T *y, int incy, T *a) {
    for (int j = 0; j < n; j++)
        for (int i = up ? 0 : j; i < (up ? j + 1 : n); i++) {
            T v = y ? OF(x, n, incx, i) * OF(y, n, incy, j) + OF(y, n, incy, i) * OF(x, n, incx, j)
                    : OF(x, n, incx, i) * OF(x, n, incx, j);
            a[OWN(place)(up, n, n - 1, 0, i, j)] += alpha * v;
        }
}

/* x = op(a) x, or its inverse times x, of a triangle */
static void OWN(triangle)(int inverse, int up, int t, int unit, int n, int k, const T *a, int lda, T *x, int incx) {
    int upper = up != t, rising = upper != inverse;
    for (int s = 0; s < n; s++) {
        int r = rising ? s : n - 1 - s;
        T v = OF(x, n, incx, r), d = unit ? 1 : a[OWN(place)(up, n, k, lda, r, r)], sum = 0;
        for (int c = upper ? r + 1 : MOST(0, r - k); c < (upper ? LEAST(n, r + k + 1) : r); c++)
            sum += a[OWN(place)(up, n, k, lda, t ? c : r, t ? r : c)] * OF(x, n, incx, c);
        OF(x, n, incx, r) = inverse ? (v - sum) / d : d * v + sum;
    }
}

/* --- by address (Fortran), and by value in either order */

#define TURNED(c) (!is(*(c), 'N'))
#define UPPER(c) is(*(c), 'U')
#define BY_ROWS (order == ROWS)
#define SET(uplo) (((uplo) == 121) != BY_ROWS)

void FORTRAN(gbmv)(const char *trans, const int *m, const int *n, const int *kl, const int *ku, const T *alpha, const T *a,
                   const int *lda, const T *x, const int *incx, const T *beta, T *y, const int *incy) {
    OWN(gbmv)(TURNED(trans), *m, *n, *kl, *ku, *alpha, a, *lda, x, *incx, *beta, y, *incy);
}
void CBLAS(gbmv)(int order, int trans, int m, int n, int kl, int ku, T alpha, const T *a, int lda, const T *x, int incx, T beta,
                 T *y, int incy) {
    int t = (trans != 111) != BY_ROWS;
    OWN(gbmv)(t, BY_ROWS ? n : m, BY_ROWS ? m : n, BY_ROWS ? ku : kl, BY_ROWS ? kl : ku, alpha, a, lda, x, incx, beta, y, incy);
}
void FORTRAN(sbmv)(const char *uplo, const int *n, const int *k, const T *alpha, const T *a, const int *lda, const T *x,
                   const int *incx, const T *beta, T *y, const int *incy) {
    OWN(symmetric)(UPPER(uplo), *n, *k, *alpha, a, *lda, x, *incx, *beta, y, *incy);
}
void CBLAS(sbmv)(int order, int uplo, int n, int k, T alpha, const T *a, int lda, const T *x, int incx, T beta, T *y, int incy) {
    OWN(symmetric)(SET(uplo), n, k, alpha, a, lda, x, incx, beta, y, incy);
}
void FORTRAN(spmv)(const char *uplo, const int *n, const T *alpha, const T *a, const T *x, const int *incx, const T *beta, T *y,
                   const int *incy) {
    OWN(symmetric)(UPPER(uplo), *n, *n - 1, *alpha, a, 0, x, *incx, *beta, y, *incy);
}
void CBLAS(spmv)(int order, int uplo, int n, T alpha, const T *a, const T *x, int incx, T beta, T *y, int incy) {
    OWN(symmetric)(SET(uplo), n, n - 1, alpha, a, 0, x, incx, beta, y, incy);
}
void FORTRAN(spr)(const char *uplo, const int *n, const T *alpha, const T *x, const int *incx, T *a) {
    OWN(update)(UPPER(uplo), *n, *alpha, x, *incx, (const T *)0, 0, a);
}
void CBLAS(spr)(int order, int uplo, int n, T alpha, const T *x, int incx, T *a) {
    OWN(update)(SET(uplo), n, alpha, x, incx, (const T *)0, 0, a);
}
void FORTRAN(spr2)(const char *uplo, const int *n, const T *alpha, const T *x, const int *incx, const T *y, const int *incy,
                   T *a) {
    OWN(update)(UPPER(uplo), *n, *alpha, x, *incx, y, *incy, a);
}
void CBLAS(spr2)(int order, int uplo, int n, T alpha, const T *x, int incx, const T *y, int incy, T *a) {
    OWN(update)(SET(uplo), n, alpha, x, incx, y, incy, a);
}
#define TRIANGLES(name, inverse) \
    void FORTRAN(tb##name)(const char *uplo, const char *trans, const char *diag, const int *n, const int *k, const T *a, \
                           const int *lda, T *x, const int *incx) { \
        OWN(triangle)(inverse, UPPER(uplo), TURNED(trans), is(*diag, 'U'), *n, *k, a, *lda, x, *incx); \
    } \
    void CBLAS(tb##name)(int order, int uplo, int trans, int diag, int n, int k, const T *a, int lda, T *x, int incx) { \
        OWN(triangle)(inverse, SET(uplo), (trans != 111) != BY_ROWS, diag == 132, n, k, a, lda, x, incx); \
    } \
    void FORTRAN(tp##name)(const char *uplo, const char *trans, const char *diag, const int *n, const T *a, T *x, \
                           const int *incx) { \
        OWN(triangle)(inverse, UPPER(uplo), TURNED(trans), is(*diag, 'U'), *n, *n - 1, a, 0, x, *incx); \
    } \
    void CBLAS(tp##name)(int order, int uplo, int trans, int diag, int n, const T *a, T *x, int incx) { \
        OWN(triangle)(inverse, SET(uplo), (trans != 111) != BY_ROWS, diag == 132, n, n - 1, a, 0, x, incx); \
    }
TRIANGLES(mv, 0)
TRIANGLES(sv, 1)
#undef TRIANGLES
