/* The routines for one type: `T` is its name, `LETTER` that of its routines. Included by lapack.c. */

void BLAS(scal)(const int *, const T *, T *, const int *);
void BLAS(swap)(const int *, T *, const int *, T *, const int *);
void BLAS(ger)(const int *, const int *, const T *, const T *, const int *, const T *, const int *, T *, const int *);
void BLAS(syr)(const char *, const int *, const T *, const T *, const int *, T *, const int *);
void BLAS(syrk)(const char *, const char *, const int *, const int *, const T *, const T *, const int *, const T *, T *,
                const int *);
void BLAS(gemm)(const char *, const char *, const int *, const int *, const int *, const T *, const T *, const int *,
                const T *, const int *, const T *, T *, const int *);
void BLAS(trsm)(const char *, const char *, const char *, const char *, const int *, const int *, const T *, const T *,
                const int *, T *, const int *);

#define SCRATCH(rows, columns) \
    malloc(sizeof(T) * (unsigned long)(MOST(rows, 1)) * (unsigned long)(MOST(columns, 1)))

/* b = inverse of op(a) times b */
static inline void OWN(solve)(char uplo, char trans, char diag, int n, int nrhs, const T *a, int lda, T *b, int ldb) {
    T one = 1;
    if (n > 0 && nrhs > 0) BLAS(trsm)("L", &uplo, &trans, &diag, &n, &nrhs, &one, a, &lda, b, &ldb);
}

static inline void OWN(exchange)(int n, T *x, int incx, T *y, int incy) {
    if (n > 0) BLAS(swap)(&n, x, &incx, y, &incy);
}

/* b = transposed a, m times n */
static inline void OWN(turn)(int m, int n, const T *a, int lda, T *b, int ldb) {
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) *AT(b, ldb, j, i) = *AT(a, lda, i, j);
}

/* --- Cholesky */

/* The triangle of a by columns, in place: 0, or the order of the first minor that is not positive. */
static int OWN(cholesky)(int up, int n, T *a, int lda) {
    T one = 1, minus = -1;
    for (int j = 0; j < n; j += BLOCK) {
        int size = LEAST(BLOCK, n - j), rest = n - j - size, step = up ? lda : 1;
        for (int k = 0; k < size; k++) {
            T *d = AT(a, lda, j + k, j + k), *x = d + step;
            int left = size - k - 1;
            if (!(*d > 0)) return j + k + 1;
            T root = sizeof(T) == 4 ? (T)__builtin_sqrtf((float)*d) : (T)__builtin_sqrt((double)*d), inverse = 1 / root;
            *d = root;
            if (left > 0) {
                BLAS(scal)(&left, &inverse, x, &step);
                BLAS(syr)(up ? "U" : "L", &left, &minus, x, &step, d + lda + 1, &lda);
            }
        }
        if (rest > 0) {
            T *d = AT(a, lda, j, j), *panel = up ? AT(a, lda, j, j + size) : AT(a, lda, j + size, j);
            T *corner = AT(a, lda, j + size, j + size);
            if (up) BLAS(trsm)("L", "U", "T", "N", &size, &rest, &one, d, &lda, panel, &lda);
            else BLAS(trsm)("R", "L", "T", "N", &rest, &size, &one, d, &lda, panel, &lda);
            BLAS(syrk)(up ? "U" : "L", up ? "T" : "N", &rest, &size, &minus, panel, &lda, &one, corner, &lda);
        }
    }
    return 0;
}

static void OWN(after_cholesky)(int up, int n, int nrhs, const T *a, int lda, T *b, int ldb) {
    OWN(solve)(up ? 'U' : 'L', up ? 'T' : 'N', 'N', n, nrhs, a, lda, b, ldb);
    OWN(solve)(up ? 'U' : 'L', up ? 'N' : 'T', 'N', n, nrhs, a, lda, b, ldb);
}

void FORTRAN(potrf)(const char *uplo, const int *n, T *a, const int *lda, int *info) {
    int up = is(*uplo, 'U');
    *info = !up && !is(*uplo, 'L') ? -1 : *n < 0 ? -2 : *lda < MOST(1, *n) ? -4 : 0;
    if (*info == 0) *info = OWN(cholesky)(up, *n, a, *lda);
}
void FORTRAN(potrs)(const char *uplo, const int *n, const int *nrhs, const T *a, const int *lda, T *b, const int *ldb,
                    int *info) {
    int up = is(*uplo, 'U');
    *info = !up && !is(*uplo, 'L') ? -1 : *n < 0 ? -2 : *nrhs < 0 ? -3
        : *lda < MOST(1, *n) ? -5 : *ldb < MOST(1, *n) ? -7 : 0;
    if (*info == 0) OWN(after_cholesky)(up, *n, *nrhs, a, *lda, b, *ldb);
}
void FORTRAN(posv)(const char *uplo, const int *n, const int *nrhs, T *a, const int *lda, T *b, const int *ldb, int *info) {
    int up = is(*uplo, 'U');
    *info = !up && !is(*uplo, 'L') ? -1 : *n < 0 ? -2 : *nrhs < 0 ? -3
        : *lda < MOST(1, *n) ? -5 : *ldb < MOST(1, *n) ? -7 : 0;
    if (*info == 0) *info = OWN(cholesky)(up, *n, a, *lda);
    if (*info == 0) OWN(after_cholesky)(up, *n, *nrhs, a, *lda, b, *ldb);
}

/* --- LU */

/* Factors of a, with the rows that were exchanged: 0, or the number of the first pivot that is zero. */
static int OWN(factors)(int m, int n, T *a, int lda, int *pivots) {
    T one = 1, minus = -1;
    int least = LEAST(m, n), zero = 0, unit = 1;
    for (int j = 0; j < least; j += BLOCK) {
        int size = LEAST(BLOCK, least - j), right = n - j - size, below = m - j - size;
        for (int k = j; k < j + size; k++) {
            int p = k, under = m - k - 1, beside = j + size - k - 1;
            T largest = *AT(a, lda, k, k) < 0 ? -*AT(a, lda, k, k) : *AT(a, lda, k, k);
            for (int i = k + 1; i < m; i++) {
                T v = *AT(a, lda, i, k) < 0 ? -*AT(a, lda, i, k) : *AT(a, lda, i, k);
                if (v > largest) largest = v, p = i;
            }
            pivots[k] = p + 1;
            if (p != k) OWN(exchange)(n, AT(a, lda, k, 0), lda, AT(a, lda, p, 0), lda);
            T d = *AT(a, lda, k, k);
            if (d == 0) {
                if (!zero) zero = k + 1;
            } else if (under > 0) {
                T inverse = 1 / d;
                BLAS(scal)(&under, &inverse, AT(a, lda, k + 1, k), &unit);
            }
            if (under > 0 && beside > 0)
                BLAS(ger)(&under, &beside, &minus, AT(a, lda, k + 1, k), &unit, AT(a, lda, k, k + 1), &lda,
                          AT(a, lda, k + 1, k + 1), &lda);
        }
        if (right > 0) {
            OWN(solve)('L', 'N', 'U', size, right, AT(a, lda, j, j), lda, AT(a, lda, j, j + size), lda);
            if (below > 0)
                BLAS(gemm)("N", "N", &below, &right, &size, &minus, AT(a, lda, j + size, j), &lda,
                           AT(a, lda, j, j + size), &lda, &one, AT(a, lda, j + size, j + size), &lda);
        }
    }
    return zero;
}

static void OWN(after_factors)(int trans, int n, int nrhs, const T *a, int lda, const int *pivots, T *b, int ldb) {
    if (!trans) {
        for (int k = 0; k < n; k++)
            if (pivots[k] != k + 1) OWN(exchange)(nrhs, b + k, ldb, b + pivots[k] - 1, ldb);
        OWN(solve)('L', 'N', 'U', n, nrhs, a, lda, b, ldb);
        OWN(solve)('U', 'N', 'N', n, nrhs, a, lda, b, ldb);
    } else {
        OWN(solve)('U', 'T', 'N', n, nrhs, a, lda, b, ldb);
        OWN(solve)('L', 'T', 'U', n, nrhs, a, lda, b, ldb);
        for (int k = n - 1; k >= 0; k--)
            if (pivots[k] != k + 1) OWN(exchange)(nrhs, b + k, ldb, b + pivots[k] - 1, ldb);
    }
}

void FORTRAN(getrf)(const int *m, const int *n, T *a, const int *lda, int *pivots, int *info) {
    *info = *m < 0 ? -1 : *n < 0 ? -2 : *lda < MOST(1, *m) ? -4 : 0;
    if (*info == 0) *info = OWN(factors)(*m, *n, a, *lda, pivots);
}
void FORTRAN(getrs)(const char *trans, const int *n, const int *nrhs, const T *a, const int *lda, const int *pivots, T *b,
                    const int *ldb, int *info) {
    int turned = is(*trans, 'T') || is(*trans, 'C');
    *info = !turned && !is(*trans, 'N') ? -1 : *n < 0 ? -2 : *nrhs < 0 ? -3
        : *lda < MOST(1, *n) ? -5 : *ldb < MOST(1, *n) ? -8 : 0;
    if (*info == 0) OWN(after_factors)(turned, *n, *nrhs, a, *lda, pivots, b, *ldb);
}
void FORTRAN(gesv)(const int *n, const int *nrhs, T *a, const int *lda, int *pivots, T *b, const int *ldb, int *info) {
    *info = *n < 0 ? -1 : *nrhs < 0 ? -2 : *lda < MOST(1, *n) ? -4 : *ldb < MOST(1, *n) ? -7 : 0;
    if (*info == 0) *info = OWN(factors)(*n, *n, a, *lda, pivots);
    if (*info == 0) OWN(after_factors)(0, *n, *nrhs, a, *lda, pivots, b, *ldb);
}

/* --- inverses */

/* The inverse, of what was factored, in new memory. */
static T *OWN(inverse)(int up, int n, const T *a, int lda, const int *pivots) {
    T *by = SCRATCH(n, n);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) by[i + (long)j * n] = i == j;
    if (pivots) OWN(after_factors)(0, n, n, a, lda, pivots, by, n);
    else OWN(after_cholesky)(up, n, n, a, lda, by, n);
    return by;
}
static int OWN(singular)(int n, const T *a, int lda) {
    for (int k = 0; k < n; k++)
        if (*AT(a, lda, k, k) == 0) return k + 1;
    return 0;
}
/* `work` is not used; asked for its size, it says so. */
void FORTRAN(getri)(const int *n, T *a, const int *lda, const int *pivots, T *work, const int *lwork, int *info) {
    *info = *n < 0 ? -1 : *lda < MOST(1, *n) ? -3 : *lwork < MOST(1, *n) && *lwork != -1 ? -6 : 0;
    if (*info == 0) *work = MOST(1, *n);
    if (*info == 0 && *lwork != -1) *info = OWN(singular)(*n, a, *lda);
    if (*info != 0 || *lwork == -1) return;
    T *by = OWN(inverse)(0, *n, a, *lda, pivots);
    for (int j = 0; j < *n; j++)
        for (int i = 0; i < *n; i++) *AT(a, *lda, i, j) = *AT(by, *n, i, j);
    free(by);
}
void FORTRAN(potri)(const char *uplo, const int *n, T *a, const int *lda, int *info) {
    int up = is(*uplo, 'U');
    *info = !up && !is(*uplo, 'L') ? -1 : *n < 0 ? -2 : *lda < MOST(1, *n) ? -4 : 0;
    if (*info == 0) *info = OWN(singular)(*n, a, *lda);
    if (*info != 0) return;
    T *by = OWN(inverse)(up, *n, a, *lda, (const int *)0);
    for (int j = 0; j < *n; j++)
        for (int i = up ? 0 : j; i < (up ? j + 1 : *n); i++) *AT(a, *lda, i, j) = *AT(by, *n, i, j);
    free(by);
}

/* --- triangles */

static int OWN(triangular)(int up, int turned, int unit, int n, int nrhs, const T *a, int lda, T *b, int ldb) {
    for (int k = 0; k < n && !unit; k++)
        if (*AT(a, lda, k, k) == 0) return k + 1;
    OWN(solve)(up ? 'U' : 'L', turned ? 'T' : 'N', unit ? 'U' : 'N', n, nrhs, a, lda, b, ldb);
    return 0;
}
void FORTRAN(trtrs)(const char *uplo, const char *trans, const char *diag, const int *n, const int *nrhs, const T *a,
                    const int *lda, T *b, const int *ldb, int *info) {
    int up = is(*uplo, 'U'), turned = is(*trans, 'T') || is(*trans, 'C'), unit = is(*diag, 'U');
    *info = !up && !is(*uplo, 'L') ? -1 : !turned && !is(*trans, 'N') ? -2 : !unit && !is(*diag, 'N') ? -3
        : *n < 0 ? -4 : *nrhs < 0 ? -5 : *lda < MOST(1, *n) ? -7 : *ldb < MOST(1, *n) ? -9 : 0;
    if (*info == 0) *info = OWN(triangular)(up, turned, unit, *n, *nrhs, a, *lda, b, *ldb);
}

/* --- by value, in either order: matrices by rows are turned, worked on, and turned back */

int LAPACKE(potrf)(int order, char uplo, int n, T *a, int lda) {
    int info;
    char turned = is(uplo, 'U') ? 'L' : is(uplo, 'L') ? 'U' : uplo;
    if (order != ROWS && order != COLUMNS) return -1;
    FORTRAN(potrf)(order == ROWS ? &turned : &uplo, &n, a, &lda, &info);
    return info < 0 ? info - 1 : info;
}

/* Runs `call` with b by columns in `to`, whose leading dimension is `ld`. */
#define BY_COLUMNS(call) \
    if (order == COLUMNS) { \
        T *to = b; \
        int ld = ldb; \
        call; \
    } else { \
        if (ldb < nrhs) return least_b; \
        T *to = SCRATCH(n, nrhs); \
        int ld = MOST(1, n); \
        OWN(turn)(nrhs, n, b, ldb, to, ld); \
        call; \
        OWN(turn)(n, nrhs, to, ld, b, ldb); \
        free(to); \
    }

int LAPACKE(potrs)(int order, char uplo, int n, int nrhs, const T *a, int lda, T *b, int ldb) {
    int info, least_b = -8;
    char own = order == COLUMNS ? uplo : is(uplo, 'U') ? 'L' : is(uplo, 'L') ? 'U' : uplo;
    if (order != ROWS && order != COLUMNS) return -1;
    BY_COLUMNS(FORTRAN(potrs)(&own, &n, &nrhs, a, &lda, to, &ld, &info))
    return info < 0 ? info - 1 : info;
}
int LAPACKE(posv)(int order, char uplo, int n, int nrhs, T *a, int lda, T *b, int ldb) {
    int info, least_b = -8;
    char own = order == COLUMNS ? uplo : is(uplo, 'U') ? 'L' : is(uplo, 'L') ? 'U' : uplo;
    if (order != ROWS && order != COLUMNS) return -1;
    BY_COLUMNS(FORTRAN(posv)(&own, &n, &nrhs, a, &lda, to, &ld, &info))
    return info < 0 ? info - 1 : info;
}
int LAPACKE(trtrs)(int order, char uplo, char trans, char diag, int n, int nrhs, const T *a, int lda, T *b, int ldb) {
    int info, least_b = -10;
    char own = order == COLUMNS ? uplo : is(uplo, 'U') ? 'L' : is(uplo, 'L') ? 'U' : uplo;
    char turned = order == COLUMNS ? trans : is(trans, 'N') ? 'T' : is(trans, 'T') || is(trans, 'C') ? 'N' : trans;
    if (order != ROWS && order != COLUMNS) return -1;
    BY_COLUMNS(FORTRAN(trtrs)(&own, &turned, &diag, &n, &nrhs, a, &lda, to, &ld, &info))
    return info < 0 ? info - 1 : info;
}
int LAPACKE(getrf)(int order, int m, int n, T *a, int lda, int *pivots) {
    int info;
    if (order == COLUMNS) {
        FORTRAN(getrf)(&m, &n, a, &lda, pivots, &info);
        return info < 0 ? info - 1 : info;
    }
    if (order != ROWS) return -1;
    if (lda < n) return -5;
    T *by = SCRATCH(m, n);
    int ld = MOST(1, m);
    OWN(turn)(n, m, a, lda, by, ld);
    FORTRAN(getrf)(&m, &n, by, &ld, pivots, &info);
    OWN(turn)(m, n, by, ld, a, lda);
    free(by);
    return info < 0 ? info - 1 : info;
}
/* Factors by rows: those of a turned once more. */
int LAPACKE(getrs)(int order, char trans, int n, int nrhs, const T *a, int lda, const int *pivots, T *b, int ldb) {
    int info, least_b = -9;
    if (order != ROWS && order != COLUMNS) return -1;
    if (order == COLUMNS) {
        FORTRAN(getrs)(&trans, &n, &nrhs, a, &lda, pivots, b, &ldb, &info);
        return info < 0 ? info - 1 : info;
    }
    if (lda < n) return -6;
    T *by = SCRATCH(n, n);
    int leading = MOST(1, n);
    OWN(turn)(n, n, a, lda, by, leading);
    BY_COLUMNS(FORTRAN(getrs)(&trans, &n, &nrhs, by, &leading, pivots, to, &ld, &info))
    free(by);
    return info < 0 ? info - 1 : info;
}
int LAPACKE(gesv)(int order, int n, int nrhs, T *a, int lda, int *pivots, T *b, int ldb) {
    int info, least_b = -8;
    if (order != ROWS && order != COLUMNS) return -1;
    if (order == COLUMNS) {
        FORTRAN(gesv)(&n, &nrhs, a, &lda, pivots, b, &ldb, &info);
        return info < 0 ? info - 1 : info;
    }
    if (lda < n) return -5;
    T *by = SCRATCH(n, n);
    int leading = MOST(1, n);
    OWN(turn)(n, n, a, lda, by, leading);
    BY_COLUMNS(FORTRAN(gesv)(&n, &nrhs, by, &leading, pivots, to, &ld, &info))
    OWN(turn)(n, n, by, leading, a, lda);
    free(by);
    return info < 0 ? info - 1 : info;
}
int LAPACKE(getri)(int order, int n, T *a, int lda, const int *pivots) {
    int info, size = MOST(1, n), ld = MOST(1, n);
    T work[1];
    if (order != ROWS && order != COLUMNS) return -1;
    if (n < 0) return -2;
    if (lda < ld) return -4;
    if ((info = OWN(singular)(n, a, lda)) != 0) return info;
    T *by = SCRATCH(n, n);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) by[i + (long)j * ld] = order == ROWS ? *AT(a, lda, j, i) : *AT(a, lda, i, j);
    FORTRAN(getri)(&n, by, &ld, pivots, work, &size, &info);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) *(order == ROWS ? AT(a, lda, j, i) : AT(a, lda, i, j)) = by[i + (long)j * ld];
    free(by);
    return info;
}
int LAPACKE(potri)(int order, char uplo, int n, T *a, int lda) {
    int info;
    char turned = is(uplo, 'U') ? 'L' : is(uplo, 'L') ? 'U' : uplo;
    if (order != ROWS && order != COLUMNS) return -1;
    FORTRAN(potri)(order == ROWS ? &turned : &uplo, &n, a, &lda, &info);
    return info < 0 ? info - 1 : info;
}
#undef BY_COLUMNS
