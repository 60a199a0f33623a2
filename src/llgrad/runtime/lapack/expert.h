/* Expert drivers for linear systems, for one type: see lapack.h. Included by lapack.c.
 *
 * They never equilibrate (`equed` is 'N'), and do not refine, which changes solutions by rounding alone. The bounds of errors are the
 * library's and count as constant. Factors that are given with scales have no derivative here: the solution is not a number.
 */

void BLAS(gesvx)(const char *, const char *, const int *, const int *, T *, const int *, T *, const int *, int *, char *, T *, T *,
                 T *, const int *, T *, const int *, T *, T *, T *, T *, int *, int *);
void BLAS(posvx)(const char *, const char *, const int *, const int *, T *, const int *, T *, const int *, char *, T *, T *,
                 const int *, T *, const int *, T *, T *, T *, T *, int *, int *);
void BLAS(gbsvx)(const char *, const char *, const int *, const int *, const int *, const int *, T *, const int *, T *, const int *,
                 int *, char *, T *, T *, T *, const int *, T *, const int *, T *, T *, T *, T *, int *, int *);

static void OWN(copy)(int m, int n, const T *a, int lda, T *b, int ldb) {
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) *AT(b, ldb, i, j) = *AT(a, lda, i, j);
}

/* The library's bounds of errors; `how` is `trans`, or `uplo`. No derivative passes through here: `lapack.py` says so. */
__attribute__((noinline)) static void OWN(bounds)(int which, char how, int n, int kl, int ku, int nrhs, const T *a, int lda,
                                                  const T *b, int ldb, T *forward, T *backward) {
    int info, rows = which == BANDED ? kl + ku + 1 : n, fill = which == BANDED ? rows + kl : n, *integers = malloc(8UL * n);
    T *own = SCRATCH(rows, n), *af = SCRATCH(fill, n), *scales = SCRATCH(2, n), *to = SCRATCH(n, nrhs), *x = SCRATCH(n, nrhs);
    T *work = SCRATCH(4, n), found;
    char equed;
    OWN(copy)(rows, n, a, lda, own, rows);
    OWN(copy)(n, nrhs, b, ldb, to, n);
    if (which == GENERAL)
        BLAS(gesvx)("N", &how, &n, &nrhs, own, &n, af, &n, integers, &equed, scales, scales + n, to, &n, x, &n, &found, forward,
                    backward, work, integers + n, &info);
    else if (which == POSITIVE)
        BLAS(posvx)("N", &how, &n, &nrhs, own, &n, af, &n, &equed, scales, to, &n, x, &n, &found, forward, backward, work,
                    integers, &info);
    else
        BLAS(gbsvx)("N", &how, &n, &kl, &ku, &nrhs, own, &rows, af, &fill, integers, &equed, scales, scales + n, to, &n, x, &n,
                    &found, forward, backward, work, integers + n, &info);
    free(work);
    free(x);
    free(to);
    free(scales);
    free(af);
    free(own);
    free(integers);
}

/* After a solution: an error if the matrix is nearly singular; no solution if the factors were `scaled`. */
static int OWN(finished)(int scaled, int n, int nrhs, T *x, int ldx, T condition) {
    T none = condition - condition;
    for (int j = 0; scaled && j < nrhs; j++)
        for (int i = 0; i < n; i++) *AT(x, ldx, i, j) = *AT(x, ldx, i, j) / none * none;
    return condition < (sizeof(T) == 4 ? (T)0x1p-24 : (T)0x1p-53) ? n + 1 : 0;
}

void FORTRAN(gesvx)(const char *fact, const char *trans, const int *n, const int *nrhs, T *a, const int *lda, T *af, const int *ldaf,
                    int *pivots, char *equed, T *r, T *c, T *b, const int *ldb, T *x, const int *ldx, T *found, T *forward,
                    T *backward, T *work, int *iwork, int *info) {
    int given = is(*fact, 'F'), turned = is(*trans, 'T') || is(*trans, 'C'), scaled = given && !is(*equed, 'N');
    char kind = turned ? 'I' : '1';
    *info = !given && !is(*fact, 'N') && !is(*fact, 'E') ? -1 : !turned && !is(*trans, 'N') ? -2 : *n < 0 ? -3 : *nrhs < 0 ? -4
        : *lda < MOST(1, *n) ? -6 : *ldaf < MOST(1, *n) ? -8 : *ldb < MOST(1, *n) ? -14 : *ldx < MOST(1, *n) ? -16 : 0;
    if (*info != 0) return;
    if (!given) {
        *equed = 'N';
        OWN(copy)(*n, *n, a, *lda, af, *ldaf);
        *info = OWN(factors)(*n, *n, af, *ldaf, pivots);
        if (*info > 0) *found = 0;
        if (*info > 0) return;
    }
    OWN(bounds)(GENERAL, *trans, *n, 0, 0, *nrhs, a, *lda, b, *ldb, forward, backward);
    FORTRAN(gecon)(&kind, n, af, ldaf, &(T){FORTRAN(lange)(&kind, n, n, a, lda, work)}, found, work, iwork, info);
    OWN(copy)(*n, *nrhs, b, *ldb, x, *ldx);
    OWN(after_factors)(turned, *n, *nrhs, af, *ldaf, pivots, x, *ldx);
    *info = OWN(finished)(scaled, *n, *nrhs, x, *ldx, *found);
}
void FORTRAN(posvx)(const char *fact, const char *uplo, const int *n, const int *nrhs, T *a, const int *lda, T *af, const int *ldaf,
                    char *equed, T *s, T *b, const int *ldb, T *x, const int *ldx, T *found, T *forward, T *backward, T *work,
                    int *iwork, int *info) {
    int given = is(*fact, 'F'), up = is(*uplo, 'U'), scaled = given && !is(*equed, 'N');
    *info = !given && !is(*fact, 'N') && !is(*fact, 'E') ? -1 : !up && !is(*uplo, 'L') ? -2 : *n < 0 ? -3 : *nrhs < 0 ? -4
        : *lda < MOST(1, *n) ? -6 : *ldaf < MOST(1, *n) ? -8 : *ldb < MOST(1, *n) ? -12 : *ldx < MOST(1, *n) ? -14 : 0;
    if (*info != 0) return;
    if (!given) {
        *equed = 'N';
        for (int j = 0; j < *n; j++)
            for (int i = up ? 0 : j; i < (up ? j + 1 : *n); i++) *AT(af, *ldaf, i, j) = *AT(a, *lda, i, j);
        *info = OWN(cholesky)(up, *n, af, *ldaf);
        if (*info > 0) *found = 0;
        if (*info > 0) return;
    }
    OWN(bounds)(POSITIVE, *uplo, *n, 0, 0, *nrhs, a, *lda, b, *ldb, forward, backward);
    FORTRAN(pocon)(uplo, n, af, ldaf, &(T){FORTRAN(lansy)("1", uplo, n, a, lda, work)}, found, work, iwork, info);
    OWN(copy)(*n, *nrhs, b, *ldb, x, *ldx);
    OWN(after_cholesky)(up, *n, *nrhs, af, *ldaf, x, *ldx);
    *info = OWN(finished)(scaled, *n, *nrhs, x, *ldx, *found);
}
void FORTRAN(gbsvx)(const char *fact, const char *trans, const int *n, const int *kl, const int *ku, const int *nrhs, T *a,
                    const int *lda, T *af, const int *ldaf, int *pivots, char *equed, T *r, T *c, T *b, const int *ldb, T *x,
                    const int *ldx, T *found, T *forward, T *backward, T *work, int *iwork, int *info) {
    int given = is(*fact, 'F'), turned = is(*trans, 'T') || is(*trans, 'C'), scaled = given && !is(*equed, 'N');
    char kind = turned ? 'I' : '1';
    *info = !given && !is(*fact, 'N') && !is(*fact, 'E') ? -1 : !turned && !is(*trans, 'N') ? -2 : *n < 0 ? -3 : *kl < 0 ? -4
        : *ku < 0 ? -5 : *nrhs < 0 ? -6 : *lda < *kl + *ku + 1 ? -8 : *ldaf < 2 * *kl + *ku + 1 ? -10
        : *ldb < MOST(1, *n) ? -16 : *ldx < MOST(1, *n) ? -18 : 0;
    if (*info != 0) return;
    if (!given) {
        *equed = 'N';
        OWN(copy)(*kl + *ku + 1, *n, a, *lda, af + *kl, *ldaf);
        *info = OWN(band_factors)(*n, *n, *kl, *ku, af, *ldaf, pivots);
        if (*info > 0) *found = 0;
        if (*info > 0) return;
    }
    OWN(bounds)(BANDED, *trans, *n, *kl, *ku, *nrhs, a, *lda, b, *ldb, forward, backward);
    FORTRAN(gbcon)(&kind, n, kl, ku, af, ldaf, pivots, &(T){FORTRAN(langb)(&kind, n, kl, ku, a, lda, work)}, found, work, iwork,
                   info);
    OWN(copy)(*n, *nrhs, b, *ldb, x, *ldx);
    OWN(after_band)(turned, *n, *kl, *ku, *nrhs, af, *ldaf, pivots, x, *ldx);
    *info = OWN(finished)(scaled, *n, *nrhs, x, *ldx, *found);
}
