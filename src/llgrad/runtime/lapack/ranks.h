/* Least squares with matrices of any rank, for one type: see lapack.h. Included by lapack.c.
 *
 * Of a square R of rank r, with bases U and V of its columns and rows that count as constant, R = F G where F = R V, G = K^-1 U' R and
 * K = U' R V: exactly so while the rank stays, and to the first order for what the library cuts off. F and G have full rank, and
 * the shortest solution is that of G for that of F (Ben-Israel and Greville 2003).
 */

/* The singular vectors of the triangle of r: bases u of its columns, v of its rows, and the singular values. No derivative passes
 * through here: `lapack.py` says so. */
__attribute__((noinline)) static int OWN(bases)(int q, const T *r, int ldr, T *u, T *v, T *s) {
    int info, size = -1, *integers = malloc(sizeof(int) * 8 * (unsigned long)q);
    T *x = SCRATCH(q, q), *turned = SCRATCH(q, q), asked;
    for (int j = 0; j < q; j++)
        for (int i = 0; i < q; i++) *AT(x, q, i, j) = i <= j ? *AT(r, ldr, i, j) : 0;
    BLAS(gesdd)("A", &q, &q, x, &q, s, u, &q, turned, &q, &asked, &size, integers, &info);
    size = (int)asked;
    T *work = SCRATCH(size, 1);
    BLAS(gesdd)("A", &q, &q, x, &q, s, u, &q, turned, &q, work, &size, integers, &info);
    OWN(turn)(q, q, turned, q, v, q);
    free(work);
    free(turned);
    free(x);
    free(integers);
    return info;
}

/* The singular values of a triangle. */
static int OWN(values_of)(int q, const T *r, int ldr, T *s) {
    T *x = SCRATCH(q, q);
    for (int j = 0; j < q; j++)
        for (int i = 0; i < q; i++) *AT(x, q, i, j) = i <= j ? *AT(r, ldr, i, j) : 0;
    int info = OWN(decomposed)(1, 0, 0, q, q, q, q, x, q, s, x, q, x, q);
    free(x);
    return info;
}

/* F, q times rank, and G, rank times q, of a triangle. */
static void OWN(skeleton)(int q, int rank, const T *r, int ldr, const T *u, const T *v, T *f, T *g) {
    T one = 1, none = 0, *square = SCRATCH(q, q), *k = SCRATCH(rank, rank);
    int *pivots = malloc(sizeof(int) * (unsigned long)MOST(rank, 1));
    for (int j = 0; j < q; j++)
        for (int i = 0; i < q; i++) *AT(square, q, i, j) = i <= j ? *AT(r, ldr, i, j) : 0;
    BLAS(gemm)("N", "N", &q, &rank, &q, &one, square, &q, v, &q, &none, f, &q);
    BLAS(gemm)("T", "N", &rank, &rank, &q, &one, u, &q, f, &q, &none, k, &rank);
    BLAS(gemm)("T", "N", &rank, &q, &q, &one, u, &q, square, &q, &none, g, &rank);
    OWN(factors)(rank, rank, k, rank, pivots);
    OWN(after_factors)(0, rank, q, k, rank, pivots, g, rank);
    free(pivots);
    free(k);
    free(square);
}

/* The singular values of F G: of the product of the triangles of F and of transposed G. */
static int OWN(values_of_rank)(int q, int rank, const T *f, const T *g, T *s) {
    T one = 1, *left = SCRATCH(q, rank), *right = SCRATCH(q, rank), *x = SCRATCH(rank, rank), *tau = SCRATCH(rank, 1);
    for (long i = 0; i < (long)q * rank; i++) left[i] = f[i];
    OWN(turn)(rank, q, g, rank, right, q);
    OWN(reflections)(q, rank, left, q, tau);
    OWN(reflections)(q, rank, right, q, tau);
    for (int j = 0; j < rank; j++)
        for (int i = 0; i < rank; i++) *AT(x, rank, i, j) = i <= j ? *AT(left, q, i, j) : 0;
    BLAS(trmm)("R", "U", "T", "N", &rank, &rank, &one, right, &q, x, &rank);
    OWN(reflections)(rank, rank, x, rank, tau);
    int info = OWN(values_of)(rank, x, rank, s);
    free(tau);
    free(x);
    free(right);
    free(left);
    return info;
}

/* c = pseudo-inverse of F G, or of its transpose, times c, of q numbers in each of nrhs columns. F and G are not kept. */
static void OWN(of_rank)(int turned, int q, int rank, int nrhs, T *f, T *g, T *c, int ldc) {
    if (!turned) OWN(least_squares)(0, q, rank, nrhs, f, q, c, ldc);
    OWN(least_squares)(turned, rank, q, nrhs, g, rank, c, ldc);
    if (turned) OWN(least_squares)(1, q, rank, nrhs, f, q, c, ldc);
}

/* The shortest of the best solutions; where what is cut off is more than rounding, nothing is a number. The singular values that
 * are cut off count as constant. */
static int OWN(any_rank)(int m, int n, int nrhs, const T *a, int lda, T *b, int ldb, T *s, T least, int *rank) {
    int wide = m < n, p = MOST(m, n), q = LEAST(m, n), rest;
    T *f = SCRATCH(p, q), *tau = SCRATCH(q, 1), *u = SCRATCH(q, q), *v = SCRATCH(q, q), *near = SCRATCH(q, 1);
    T small = sizeof(T) == 4 ? 1.2e-7 : 2.3e-16, doubtful = sizeof(T) == 4 ? 1e-4 : 1e-10;
    for (int j = 0; j < q; j++)
        for (int i = 0; i < p; i++) *AT(f, p, i, j) = wide ? *AT(a, lda, j, i) : *AT(a, lda, i, j);
    OWN(reflections)(p, q, f, p, tau);
    int info = OWN(bases)(q, f, p, u, v, near);
    for (rest = 0; info == 0 && rest < q && near[rest] > (least < 0 ? small : least) * near[0]; rest++) ;
    *rank = rest;
    T *left = SCRATCH(q, rest), *right = SCRATCH(rest, q);
    if (info == 0 && rest < q) OWN(skeleton)(q, rest, f, p, u, v, left, right);
    if (info == 0) info = rest == q ? OWN(values_of)(q, f, p, s) : OWN(values_of_rank)(q, rest, left, right, s);
    for (int i = rest; i < q; i++) s[i] = near[i];
    if (info == 0) {
        if (!wide) OWN(times_q)(1, p, nrhs, q, f, p, tau, b, ldb);
        if (rest == q) OWN(solve)('U', wide ? 'T' : 'N', 'N', q, nrhs, f, p, b, ldb);
        else if (rest > 0) OWN(of_rank)(wide, q, rest, nrhs, left, right, b, ldb);
        T none = near[0] - near[0];
        for (int j = 0; j < nrhs; j++) {
            for (int i = 0; i < q && (rest == 0 || (rest < q && near[rest] > doubtful * near[0])); i++)
                *AT(b, ldb, i, j) = rest == 0 ? 0 : *AT(b, ldb, i, j) / none * none;
            for (int i = q; wide && i < p; i++) *AT(b, ldb, i, j) = 0;
        }
        if (wide) OWN(times_q)(0, p, nrhs, q, f, p, tau, b, ldb);
    }
    free(right);
    free(left);
    free(near);
    free(v);
    free(u);
    free(tau);
    free(f);
    return info;
}

void FORTRAN(gelsd)(const int *m, const int *n, const int *nrhs, T *a, const int *lda, T *b, const int *ldb, T *s, const T *least,
                    int *rank, T *work, const int *lwork, int *iwork, int *info) {
    int q = LEAST(*m, *n), size = MOST(1, 12 * q + 2 * q * 25 + 8 * q + q * *nrhs + 676 + MOST(*m, *n));
    *info = *m < 0 ? -1 : *n < 0 ? -2 : *nrhs < 0 ? -3 : *lda < MOST(1, *m) ? -5 : *ldb < MOST(1, MOST(*m, *n)) ? -7 : 0;
    if (*info == 0 && *lwork == -1) *work = size, *iwork = MOST(1, 33 * q);
    if (*info != 0 || *lwork == -1) return;
    *rank = 0;
    if (q > 0) *info = OWN(any_rank)(*m, *n, *nrhs, a, *lda, b, *ldb, s, *least, rank);
    else
        for (int j = 0; j < *nrhs; j++)
            for (int i = 0; i < *n; i++) *AT(b, *ldb, i, j) = 0;
}
/* `a` would hold the right singular vectors: not a number here. */
void FORTRAN(gelss)(const int *m, const int *n, const int *nrhs, T *a, const int *lda, T *b, const int *ldb, T *s, const T *least,
                    int *rank, T *work, const int *lwork, int *info) {
    int q = LEAST(*m, *n), size = MOST(1, 3 * q + MOST(2 * q, MOST(MOST(*m, *n), *nrhs))), all = 0, integers;
    int ask = *lwork == -1, short_of = !ask && *lwork < size, none = -1;
    FORTRAN(gelsd)(m, n, nrhs, a, lda, b, ldb, s, least, rank, work, ask || short_of ? &none : &all, &integers, info);
    if (*info == 0 && short_of) *info = -12;
    if (*info == 0) *work = size;
    for (int j = 0; j < *n && *info >= 0 && !ask; j++)
        for (int i = 0; i < q; i++) *AT(a, *lda, i, j) = __builtin_nan("");
}
int LAPACKE(gelsd)(int order, int m, int n, int nrhs, T *a, int lda, T *b, int ldb, T *s, T least, int *rank) {
    int info, size = 1, rows = MOST(m, n), integers;
    T work[1];
    if (order != ROWS && order != COLUMNS) return -1;
    if (order == ROWS && lda < n) return -6;
    if (order == ROWS && ldb < nrhs) return -8;
    TURNED(m, n, a, lda, by, ld,
           TURNED(rows, nrhs, b, ldb, to, ldt,
                  FORTRAN(gelsd)(&m, &n, &nrhs, by, &ld, to, &ldt, s, &least, rank, work, &size, &integers, &info)))
    return info < 0 ? info - 1 : info;
}
int LAPACKE(gelss)(int order, int m, int n, int nrhs, T *a, int lda, T *b, int ldb, T *s, T least, int *rank) {
    int info, q = LEAST(m, n), size = MOST(1, 3 * q + MOST(2 * q, MOST(MOST(m, n), nrhs))), rows = MOST(m, n);
    T work[1];
    if (order != ROWS && order != COLUMNS) return -1;
    if (order == ROWS && lda < n) return -6;
    if (order == ROWS && ldb < nrhs) return -8;
    TURNED(m, n, a, lda, by, ld,
           TURNED(rows, nrhs, b, ldb, to, ldt,
                  FORTRAN(gelss)(&m, &n, &nrhs, by, &ld, to, &ldt, s, &least, rank, work, &size, &info)))
    return info < 0 ? info - 1 : info;
}
#undef TURNED
#undef SCRATCH
