/* QR factors and least squares, for one type: see lapack.h. Included by lapack.c.
 *
 * A block of reflections H1 ... Hk is I - V T V' with V by columns, unit lower trapezoidal, and T upper triangular (Schreiber and
 * Van Loan 1989). Where a column is zero below its diagonal already, the library's reflection is none, which has no derivative;
 * here it turns the sign, as do the reflections of columns nearby: everything that does not depend on signs of R has its derivative.
 */

T BLAS(dot)(const int *, const T *, const int *, const T *, const int *);
void BLAS(gemv)(const char *, const int *, const int *, const T *, const T *, const int *, const T *, const int *, const T *, T *,
                const int *);
void BLAS(trmm)(const char *, const char *, const char *, const char *, const int *, const int *, const T *, const T *,
                const int *, T *, const int *);

/* The reflection of the column (*d, x) of 1 + n numbers: its vector without the leading 1 goes to h and x; its factor. */
static T OWN(reflection)(int n, T *d, T *x, T *h) {
    int unit = 1;
    if (n <= 0) return 0;
    T alpha = *d, square = alpha * alpha + BLAS(dot)(&n, x, &unit, x, &unit);
    T root = sizeof(T) == 4 ? (T)__builtin_sqrtf((float)square) : (T)__builtin_sqrt((double)square);
    T beta = alpha < 0 ? root : -root, none = root == 0, inverse = 1 / (alpha - beta + none);
    for (int i = 0; i < n; i++) x[i] = h[i] = x[i] * inverse;
    *d = beta;
    return (beta - alpha) / (beta + none);
}

/* T of k reflections of m numbers, by columns of BLOCK. */
static void OWN(accumulated)(int m, int k, const T *v, const T *tau, T *t) {
    T one = 1, none = 0, *g = SCRATCH(BLOCK, BLOCK);
    int ld = BLOCK;
    BLAS(gemm)("T", "N", &k, &k, &m, &one, v, &m, v, &m, &none, g, &ld);
    for (int j = 0; j < k; j++) {
        for (int i = 0; i < j; i++) {
            T sum = 0;
            for (int l = i; l < j; l++) sum += *AT(t, BLOCK, i, l) * *AT(g, BLOCK, l, j);
            *AT(t, BLOCK, i, j) = -tau[j] * sum;
        }
        *AT(t, BLOCK, j, j) = tau[j];
    }
    free(g);
}

/* c, m times n, reflected by a block of k; `turned`: by its transpose. w is scratch of k times n. */
static void OWN(reflect)(int turned, int m, int n, int k, const T *v, const T *t, T *c, int ldc, T *w) {
    T one = 1, minus = -1, none = 0;
    int ld = BLOCK;
    BLAS(gemm)("T", "N", &k, &n, &m, &one, v, &m, c, &ldc, &none, w, &ld);
    BLAS(trmm)("L", "U", turned ? "T" : "N", "N", &k, &n, &one, t, &ld, w, &ld);
    BLAS(gemm)("N", "N", &m, &n, &k, &minus, v, &m, w, &ld, &one, c, &ldc);
}

/* R over the vectors of the reflections, in place; their factors. */
static void OWN(reflections)(int m, int n, T *a, int lda, T *tau) {
    T one = 1, none = 0;
    int unit = 1, least = LEAST(m, n);
    T *v = SCRATCH(m, BLOCK), *w = SCRATCH(BLOCK, n), *t = SCRATCH(BLOCK, BLOCK);
    for (int j = 0; j < least; j += BLOCK) {
        int size = LEAST(BLOCK, least - j), rows = m - j, right = n - j - size;
        for (int k = 0; k < size; k++) {
            T *h = AT(v, rows, 0, k), *d = AT(a, lda, j + k, j + k);
            int length = rows - k, beside = size - k - 1;
            for (int i = 0; i < k; i++) h[i] = 0;
            h[k] = 1;
            tau[j + k] = OWN(reflection)(length - 1, d, d + 1, h + k + 1);
            if (beside > 0) {
                T factor = -tau[j + k];
                BLAS(gemv)("T", &length, &beside, &one, d + lda, &lda, h + k, &unit, &none, w, &unit);
                BLAS(ger)(&length, &beside, &factor, h + k, &unit, w, &unit, d + lda, &lda);
            }
        }
        if (right > 0) {
            OWN(accumulated)(rows, size, v, tau + j, t);
            OWN(reflect)(1, rows, right, size, v, t, AT(a, lda, j, j + size), lda, w);
        }
    }
    free(t);
    free(w);
    free(v);
}

/* c = Q c, or transposed Q times c; Q is of k reflections of m numbers. */
static void OWN(times_q)(int turned, int m, int n, int k, const T *a, int lda, const T *tau, T *c, int ldc) {
    T *v = SCRATCH(m, BLOCK), *w = SCRATCH(BLOCK, n), *t = SCRATCH(BLOCK, BLOCK);
    int blocks = (k + BLOCK - 1) / BLOCK;
    for (int b = 0; b < blocks && n > 0; b++) {
        int j = BLOCK * (turned ? b : blocks - 1 - b), size = LEAST(BLOCK, k - j), rows = m - j;
        for (int p = 0; p < size; p++)
            for (int i = 0; i < rows; i++) *AT(v, rows, i, p) = i < p ? 0 : i == p ? 1 : *AT(a, lda, j + i, j + p);
        OWN(accumulated)(rows, size, v, tau + j, t);
        OWN(reflect)(turned, rows, n, size, v, t, c + j, ldc, w);
    }
    free(t);
    free(w);
    free(v);
}

void FORTRAN(geqrf)(const int *m, const int *n, T *a, const int *lda, T *tau, T *work, const int *lwork, int *info) {
    *info = *m < 0 ? -1 : *n < 0 ? -2 : *lda < MOST(1, *m) ? -4 : *lwork < MOST(1, *n) && *lwork != -1 ? -7 : 0;
    if (*info == 0) *work = MOST(1, *n);
    if (*info == 0 && *lwork != -1) OWN(reflections)(*m, *n, a, *lda, tau);
}

/* The first n columns of Q in place of its reflections. */
static void OWN(columns_of_q)(int m, int n, int k, T *a, int lda, const T *tau) {
    T *q = SCRATCH(m, n);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) *AT(q, m, i, j) = i == j;
    OWN(times_q)(0, m, n, k, a, lda, tau, q, MOST(1, m));
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) *AT(a, lda, i, j) = *AT(q, m, i, j);
    free(q);
}
void FORTRAN(orgqr)(const int *m, const int *n, const int *k, T *a, const int *lda, const T *tau, T *work, const int *lwork,
                    int *info) {
    *info = *m < 0 ? -1 : *n < 0 || *n > *m ? -2 : *k < 0 || *k > *n ? -3 : *lda < MOST(1, *m) ? -5
        : *lwork < MOST(1, *n) && *lwork != -1 ? -8 : 0;
    if (*info == 0) *work = MOST(1, *n);
    if (*info == 0 && *lwork != -1) OWN(columns_of_q)(*m, *n, *k, a, *lda, tau);
}

void FORTRAN(ormqr)(const char *side, const char *trans, const int *m, const int *n, const int *k, const T *a, const int *lda,
                    const T *tau, T *c, const int *ldc, T *work, const int *lwork, int *info) {
    int left = is(*side, 'L'), turned = is(*trans, 'T'), of = left ? *m : *n, least = MOST(1, left ? *n : *m);
    *info = !left && !is(*side, 'R') ? -1 : !turned && !is(*trans, 'N') ? -2 : *m < 0 ? -3 : *n < 0 ? -4
        : *k < 0 || *k > of ? -5 : *lda < MOST(1, of) ? -7 : *ldc < MOST(1, *m) ? -10
        : *lwork < least && *lwork != -1 ? -12 : 0;
    if (*info == 0) *work = least;
    if (*info != 0 || *lwork == -1) return;
    if (left) {
        OWN(times_q)(turned, *m, *n, *k, a, *lda, tau, c, *ldc);
        return;
    }
    T *by = SCRATCH(*n, *m);  /* (c Q)' = Q' c' */
    OWN(turn)(*m, *n, c, *ldc, by, MOST(1, *n));
    OWN(times_q)(!turned, *n, *m, *k, a, *lda, tau, by, MOST(1, *n));
    OWN(turn)(*n, *m, by, MOST(1, *n), c, *ldc);
    free(by);
}

/* Least squares, or the shortest solution, by the factors of a or of its transpose, whichever is tall: p times q. */
static int OWN(least_squares)(int turned, int m, int n, int nrhs, T *a, int lda, T *b, int ldb) {
    int wide = m < n, p = MOST(m, n), q = LEAST(m, n), ld = wide ? MOST(1, p) : lda;
    T *f = wide ? SCRATCH(p, q) : a, *tau = SCRATCH(q, 1);
    if (wide) OWN(turn)(m, n, a, lda, f, ld);
    OWN(reflections)(p, q, f, ld, tau);
    int zero = OWN(singular)(q, f, ld);
    if (!zero && wide == turned) {
        OWN(times_q)(1, p, nrhs, q, f, ld, tau, b, ldb);
        OWN(solve)('U', 'N', 'N', q, nrhs, f, ld, b, ldb);
    } else if (!zero) {
        OWN(solve)('U', 'T', 'N', q, nrhs, f, ld, b, ldb);
        for (int j = 0; j < nrhs; j++)
            for (int i = q; i < p; i++) *AT(b, ldb, i, j) = 0;
        OWN(times_q)(0, p, nrhs, q, f, ld, tau, b, ldb);
    }
    if (wide) {
        OWN(turn)(p, q, f, ld, a, lda);
        free(f);
    }
    free(tau);
    return zero;
}
void FORTRAN(gels)(const char *trans, const int *m, const int *n, const int *nrhs, T *a, const int *lda, T *b, const int *ldb,
                   T *work, const int *lwork, int *info) {
    int turned = is(*trans, 'T'), least = LEAST(*m, *n), size = MOST(1, least + MOST(least, *nrhs));
    *info = !turned && !is(*trans, 'N') ? -1 : *m < 0 ? -2 : *n < 0 ? -3 : *nrhs < 0 ? -4 : *lda < MOST(1, *m) ? -6
        : *ldb < MOST(1, MOST(*m, *n)) ? -8 : *lwork < size && *lwork != -1 ? -10 : 0;
    if (*info == 0) *work = size;
    if (*info != 0 || *lwork == -1) return;
    if (least > 0 && *nrhs > 0) *info = OWN(least_squares)(turned, *m, *n, *nrhs, a, *lda, b, *ldb);
    else
        for (int j = 0; j < *nrhs; j++)
            for (int i = 0; i < MOST(*m, *n); i++) *AT(b, *ldb, i, j) = 0;
}

/* --- in either order */

/* Runs `call` with m times n numbers at x by columns in `by`, whose leading dimension is `ld`. */
#define TURNED(m, n, x, ldx, by, ld, call) \
    if (order == COLUMNS) { \
        T *by = x; \
        int ld = ldx; \
        call; \
    } else { \
        T *by = SCRATCH(m, n); \
        int ld = MOST(1, m); \
        OWN(turn)(n, m, x, ldx, by, ld); \
        call; \
        OWN(turn)(m, n, by, ld, x, ldx); \
        free(by); \
    }

int LAPACKE(geqrf)(int order, int m, int n, T *a, int lda, T *tau) {
    int info, size = MOST(1, n);
    T work[1];
    if (order != ROWS && order != COLUMNS) return -1;
    if (order == ROWS && lda < n) return -5;
    TURNED(m, n, a, lda, by, ld, FORTRAN(geqrf)(&m, &n, by, &ld, tau, work, &size, &info))
    return info < 0 ? info - 1 : info;
}
int LAPACKE(orgqr)(int order, int m, int n, int k, T *a, int lda, const T *tau) {
    int info, size = MOST(1, n);
    T work[1];
    if (order != ROWS && order != COLUMNS) return -1;
    if (order == ROWS && lda < n) return -6;
    TURNED(m, n, a, lda, by, ld, FORTRAN(orgqr)(&m, &n, &k, by, &ld, tau, work, &size, &info))
    return info < 0 ? info - 1 : info;
}
int LAPACKE(ormqr)(int order, char side, char trans, int m, int n, int k, const T *a, int lda, const T *tau, T *c, int ldc) {
    int info, size = MOST(1, MOST(m, n)), of = is(side, 'L') ? m : n;
    T work[1], *q = (T *)a;
    if (order != ROWS && order != COLUMNS) return -1;
    if (order == COLUMNS) {
        FORTRAN(ormqr)(&side, &trans, &m, &n, &k, a, &lda, tau, c, &ldc, work, &size, &info);
        return info < 0 ? info - 1 : info;
    }
    if (lda < k) return -8;
    if (ldc < n) return -11;
    q = SCRATCH(of, k);
    int leading = MOST(1, of);
    OWN(turn)(k, of, a, lda, q, leading);
    TURNED(m, n, c, ldc, by, ld, FORTRAN(ormqr)(&side, &trans, &m, &n, &k, q, &leading, tau, by, &ld, work, &size, &info))
    free(q);
    return info < 0 ? info - 1 : info;
}
int LAPACKE(gels)(int order, char trans, int m, int n, int nrhs, T *a, int lda, T *b, int ldb) {
    int info, size = MOST(1, LEAST(m, n) + MOST(LEAST(m, n), nrhs)), rows = MOST(m, n);
    T work[1];
    if (order != ROWS && order != COLUMNS) return -1;
    if (order == ROWS && lda < n) return -7;
    if (order == ROWS && ldb < nrhs) return -9;
    TURNED(m, n, a, lda, by, ld,
           TURNED(rows, nrhs, b, ldb, to, ldt, FORTRAN(gels)(&trans, &m, &n, &nrhs, by, &ld, to, &ldt, work, &size, &info)))
    return info < 0 ? info - 1 : info;
}
