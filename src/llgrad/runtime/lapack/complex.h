/* Complex numbers for one type, element by element: a number is two `T`. Included by lapack.c; `Z` has the letter's names. */

typedef struct { T r, i; } Z(pair);
#define P Z(pair)

static inline P Z(times)(P a, P b) { return (P){a.r * b.r - a.i * b.i, a.r * b.i + a.i * b.r}; }
static inline P Z(plus)(P a, P b) { return (P){a.r + b.r, a.i + b.i}; }
static inline P Z(as)(int conjugated, P a) { return (P){a.r, conjugated ? -a.i : a.i}; }

static inline P Z(dot)(int conjugated, int n, const P *x, int incx, const P *y, int incy) {
    P sum = {0, 0};
    for (int i = 0; i < n; i++) sum = Z(plus)(sum, Z(times)(Z(as)(conjugated, OF(x, n, incx, i)), OF(y, n, incy, i)));
    return sum;
}
static inline void Z(axpy)(int n, P alpha, const P *x, int incx, P *y, int incy) {
    for (int i = 0; i < n; i++) OF(y, n, incy, i) = Z(plus)(OF(y, n, incy, i), Z(times)(alpha, OF(x, n, incx, i)));
}
static inline void Z(scal)(int n, P alpha, P *x, int incx) {
    for (int i = 0; i < n && incx > 0; i++) x[(long)i * incx] = Z(times)(alpha, x[(long)i * incx]);
}
static inline void Z(shrink)(int n, T alpha, P *x, int incx) {
    for (int i = 0; i < n && incx > 0; i++)
        x[(long)i * incx] = (P){alpha * x[(long)i * incx].r, alpha * x[(long)i * incx].i};
}
static inline void Z(copy)(int n, const P *x, int incx, P *y, int incy) {
    for (int i = 0; i < n; i++) OF(y, n, incy, i) = OF(x, n, incx, i);
}
static inline void Z(swap)(int n, P *x, int incx, P *y, int incy) {
    for (int i = 0; i < n; i++) {
        P v = OF(x, n, incx, i);
        OF(x, n, incx, i) = OF(y, n, incy, i);
        OF(y, n, incy, i) = v;
    }
}
static inline T Z(nrm2)(int n, const P *x, int incx) {
    T r = 0;
    for (int i = 0; i < n && incx > 0; i++)
        r = (T)__builtin_hypot(r, __builtin_hypot(x[(long)i * incx].r, x[(long)i * incx].i));
    return r;
}
static inline T Z(asum)(int n, const P *x, int incx) {
    T sum = 0;
    for (int i = 0; i < n && incx > 0; i++)
        sum += (T)(__builtin_fabs(x[(long)i * incx].r) + __builtin_fabs(x[(long)i * incx].i));
    return sum;
}
static inline void Z(rescale)(int n, P beta, P *y, int incy) {
    for (int i = 0; i < n; i++) {
        if (beta.r == 0 && beta.i == 0) OF(y, n, incy, i) = (P){0, 0};
        else OF(y, n, incy, i) = Z(times)(beta, OF(y, n, incy, i));
    }
}
/* y = alpha op(a) x + beta y: turned if t, conjugated if c */
static void Z(gemv)(int t, int c, int m, int n, P alpha, const P *a, int lda, const P *x, int incx, P beta, P *y, int incy) {
    int nx = t ? m : n, ny = t ? n : m;
    Z(rescale)(ny, beta, y, incy);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            P v = Z(times)(alpha, Z(times)(Z(as)(c, a[i + (long)j * lda]), OF(x, nx, incx, t ? i : j)));
            OF(y, ny, incy, t ? j : i) = Z(plus)(OF(y, ny, incy, t ? j : i), v);
        }
}
/* a += alpha x y', either conjugated or not */
static void Z(ger)(int cx, int cy, int m, int n, P alpha, const P *x, int incx, const P *y, int incy, P *a, int lda) {
    for (int j = 0; j < n; j++) {
        P v = Z(times)(alpha, Z(as)(cy, OF(y, n, incy, j)));
        for (int i = 0; i < m; i++)
            a[i + (long)j * lda] = Z(plus)(a[i + (long)j * lda], Z(times)(v, Z(as)(cx, OF(x, m, incx, i))));
    }
}
static void Z(gemm)(int ta, int ca, int tb, int cb, int m, int n, int k, P alpha, const P *a, int lda, const P *b, int ldb,
                    P beta, P *c, int ldc) {
    for (int j = 0; j < n; j++) {
        Z(rescale)(m, beta, c + (long)j * ldc, 1);
        for (int l = 0; l < k; l++) {
            P v = Z(times)(alpha, Z(as)(cb, tb ? b[j + (long)l * ldb] : b[l + (long)j * ldb]));
            for (int i = 0; i < m; i++) {
                P w = Z(as)(ca, ta ? a[l + (long)i * lda] : a[i + (long)l * lda]);
                c[i + (long)j * ldc] = Z(plus)(c[i + (long)j * ldc], Z(times)(v, w));
            }
        }
    }
}

/* --- by address (Fortran), and by value in either order; 114 is conjugated, not turned */

#define FOUND(c) (is(*(c), 'T') || is(*(c), 'C')), is(*(c), 'C')
#define TOLD(trans) ((trans) == 112 || (trans) == 113), (trans) >= 113

P ZF(dotu)(const int *n, const P *x, const int *incx, const P *y, const int *incy) {
    return Z(dot)(0, *n, x, *incx, y, *incy);
}
P ZF(dotc)(const int *n, const P *x, const int *incx, const P *y, const int *incy) {
    return Z(dot)(1, *n, x, *incx, y, *incy);
}
void ZC(dotu_sub)(int n, const P *x, int incx, const P *y, int incy, P *r) { *r = Z(dot)(0, n, x, incx, y, incy); }
void ZC(dotc_sub)(int n, const P *x, int incx, const P *y, int incy, P *r) { *r = Z(dot)(1, n, x, incx, y, incy); }
void ZF(axpy)(const int *n, const P *alpha, const P *x, const int *incx, P *y, const int *incy) {
    Z(axpy)(*n, *alpha, x, *incx, y, *incy);
}
void ZC(axpy)(int n, const P *alpha, const P *x, int incx, P *y, int incy) { Z(axpy)(n, *alpha, x, incx, y, incy); }
void ZF(scal)(const int *n, const P *alpha, P *x, const int *incx) { Z(scal)(*n, *alpha, x, *incx); }
void ZC(scal)(int n, const P *alpha, P *x, int incx) { Z(scal)(n, *alpha, x, incx); }
void MIXED_F(scal)(const int *n, const T *alpha, P *x, const int *incx) { Z(shrink)(*n, *alpha, x, *incx); }
void MIXED_C(scal)(int n, T alpha, P *x, int incx) { Z(shrink)(n, alpha, x, incx); }
void ZF(copy)(const int *n, const P *x, const int *incx, P *y, const int *incy) { Z(copy)(*n, x, *incx, y, *incy); }
void ZC(copy)(int n, const P *x, int incx, P *y, int incy) { Z(copy)(n, x, incx, y, incy); }
void ZF(swap)(const int *n, P *x, const int *incx, P *y, const int *incy) { Z(swap)(*n, x, *incx, y, *incy); }
void ZC(swap)(int n, P *x, int incx, P *y, int incy) { Z(swap)(n, x, incx, y, incy); }
T REAL_F(nrm2)(const int *n, const P *x, const int *incx) { return Z(nrm2)(*n, x, *incx); }
T REAL_C(nrm2)(int n, const P *x, int incx) { return Z(nrm2)(n, x, incx); }
T REAL_F(asum)(const int *n, const P *x, const int *incx) { return Z(asum)(*n, x, *incx); }
T REAL_C(asum)(int n, const P *x, int incx) { return Z(asum)(n, x, incx); }
void ZF(gemv)(const char *trans, const int *m, const int *n, const P *alpha, const P *a, const int *lda, const P *x,
              const int *incx, const P *beta, P *y, const int *incy) {
    Z(gemv)(FOUND(trans), *m, *n, *alpha, a, *lda, x, *incx, *beta, y, *incy);
}
void ZC(gemv)(int order, int trans, int m, int n, const P *alpha, const P *a, int lda, const P *x, int incx, const P *beta,
              P *y, int incy) {
    int t = trans == 112 || trans == 113;
    if (order == ROWS) Z(gemv)(!t, trans >= 113, n, m, *alpha, a, lda, x, incx, *beta, y, incy);
    else Z(gemv)(t, trans >= 113, m, n, *alpha, a, lda, x, incx, *beta, y, incy);
}
#define OUTER(name, c) \
    void ZF(name)(const int *m, const int *n, const P *alpha, const P *x, const int *incx, const P *y, const int *incy, P *a, \
                  const int *lda) { \
        Z(ger)(0, c, *m, *n, *alpha, x, *incx, y, *incy, a, *lda); \
    } \
    void ZC(name)(int order, int m, int n, const P *alpha, const P *x, int incx, const P *y, int incy, P *a, int lda) { \
        if (order == ROWS) Z(ger)(c, 0, n, m, *alpha, y, incy, x, incx, a, lda); \
        else Z(ger)(0, c, m, n, *alpha, x, incx, y, incy, a, lda); \
    }
OUTER(geru, 0)
OUTER(gerc, 1)
#undef OUTER
void ZF(gemm)(const char *ta, const char *tb, const int *m, const int *n, const int *k, const P *alpha, const P *a,
              const int *lda, const P *b, const int *ldb, const P *beta, P *c, const int *ldc) {
    Z(gemm)(FOUND(ta), FOUND(tb), *m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc);
}
void ZC(gemm)(int order, int ta, int tb, int m, int n, int k, const P *alpha, const P *a, int lda, const P *b, int ldb,
              const P *beta, P *c, int ldc) {
    if (order == ROWS) Z(gemm)(TOLD(tb), TOLD(ta), n, m, k, *alpha, b, ldb, a, lda, *beta, c, ldc);
    else Z(gemm)(TOLD(ta), TOLD(tb), m, n, k, *alpha, a, lda, b, ldb, *beta, c, ldc);
}
#undef FOUND
#undef TOLD
#undef OF
#undef TURNED
#undef UPPER
#undef BY_ROWS
#undef SET
