/* Symmetric indefinite matrices, for one type: see lapack.h. Included by lapack.c.
 *
 * a = U D U' or L D L' with blocks of one and two in D, pivoted as Bunch and Kaufman do, element by element. A factor has the derivative
 * of the triangle that is read; which pivots are chosen counts as constant. The lower factors are found as the upper ones are, from
 * the other end: `SYM(i, j)`, with i <= j of the upper matrix, is the element there.
 */
#define SYM(i, j) (*(up ? AT(a, lda, i, j) : AT(a, lda, n - 1 - (i), n - 1 - (j))))
#define NAME_OF(i) (up ? (i) + 1 : n - (i))
#define PIVOT(k) pivots[NAME_OF(k) - 1]
#define FOUND(said) (up ? SIZE_OF(said) - 1 : n - SIZE_OF(said)) /* which index a pivot names */
#define SIZE_OF(x) ((x) < 0 ? -(x) : (x))

static void OWN(exchanged)(T *x, T *y) {
    T kept = *x;
    *x = *y;
    *y = kept;
}

/* 0, or the number of the first pivot that is zero. */
static int OWN(bunch_kaufman)(int up, int n, T *a, int lda, int *pivots) {
    const T alpha = (T)0.6403882032022076; /* (1 + sqrt 17) / 8 */
    int zero = 0;
    for (int k = n - 1, step; k >= 0; k -= step) {
        int most = 0, p = k;
        T largest = 0, own = SIZE_OF(SYM(k, k));
        step = 1;
        for (int i = k - 1; i >= 0; i--) /* the last of those that are equal, as idamax finds the first of a lower column */
            if (SIZE_OF(SYM(i, k)) > largest || (up && SIZE_OF(SYM(i, k)) == largest)) largest = SIZE_OF(SYM(i, k)), most = i;
        if (!(own > 0) && !(largest > 0)) {
            if (!zero) zero = NAME_OF(k);
            PIVOT(k) = NAME_OF(k);
            continue;
        }
        if (own < alpha * largest) {
            T beside = 0;
            for (int j = most + 1; j <= k; j++)
                if (SIZE_OF(SYM(most, j)) > beside) beside = SIZE_OF(SYM(most, j));
            for (int i = 0; i < most; i++)
                if (SIZE_OF(SYM(i, most)) > beside) beside = SIZE_OF(SYM(i, most));
            if (own >= alpha * largest * (largest / beside)) p = k;
            else if (SIZE_OF(SYM(most, most)) >= alpha * beside) p = most;
            else p = most, step = 2;
        }
        int q = k - step + 1; /* goes to where the pivot comes from */
        if (p != q) {
            for (int i = 0; i < p; i++) OWN(exchanged)(&SYM(i, q), &SYM(i, p));
            for (int j = p + 1; j < q; j++) OWN(exchanged)(&SYM(j, q), &SYM(p, j));
            OWN(exchanged)(&SYM(q, q), &SYM(p, p));
            if (step == 2) OWN(exchanged)(&SYM(k - 1, k), &SYM(p, k));
        }
        if (step == 1) {
            T inverse = 1 / SYM(k, k);
            for (int j = k - 1; j >= 0; j--) {
                T by = SYM(j, k) * inverse;
                for (int i = 0; i <= j; i++) SYM(i, j) -= SYM(i, k) * by;
            }
            for (int i = 0; i < k; i++) SYM(i, k) *= inverse;
            PIVOT(k) = NAME_OF(p);
        } else {
            T d = SYM(k - 1, k), d22 = SYM(k - 1, k - 1) / d, d11 = SYM(k, k) / d, t = 1 / (d11 * d22 - 1) / d;
            for (int j = k - 2; j >= 0; j--) {
                T before = t * (d11 * SYM(j, k - 1) - SYM(j, k)), last = t * (d22 * SYM(j, k) - SYM(j, k - 1));
                for (int i = j; i >= 0; i--) SYM(i, j) -= SYM(i, k) * last + SYM(i, k - 1) * before;
                SYM(j, k) = last;
                SYM(j, k - 1) = before;
            }
            PIVOT(k) = PIVOT(k - 1) = -NAME_OF(p);
        }
    }
    return zero;
}

#define RIGHT(i, j) (*AT(b, ldb, up ? (i) : n - 1 - (i), j))
/* b = inverse of the matrix of these factors times b */
static void OWN(after_bunch_kaufman)(int up, int n, int nrhs, const T *a, int lda, const int *pivots, T *b, int ldb) {
    for (int c = 0; c < nrhs; c++) {
        for (int k = n - 1, step; k >= 0; k -= step) {
            int said = PIVOT(k), p = FOUND(said);
            step = said < 0 ? 2 : 1;
            if (p != k - step + 1) OWN(exchanged)(&RIGHT(k - step + 1, c), &RIGHT(p, c));
            for (int i = 0; i <= k - step; i++)
                RIGHT(i, c) -= SYM(i, k) * RIGHT(k, c) + (step == 2 ? SYM(i, k - 1) * RIGHT(k - 1, c) : 0);
            if (step == 1) RIGHT(k, c) /= SYM(k, k);
            else {
                T d = SYM(k - 1, k), before = SYM(k - 1, k - 1) / d, last = SYM(k, k) / d, by = before * last - 1;
                T x = RIGHT(k - 1, c) / d, y = RIGHT(k, c) / d;
                RIGHT(k - 1, c) = (last * x - y) / by;
                RIGHT(k, c) = (before * y - x) / by;
            }
        }
        for (int k = 0, step; k < n; k += step) {
            int said = PIVOT(k), p = FOUND(said);
            step = said < 0 ? 2 : 1;
            for (int i = 0; i < k; i++)
                for (int s = 0; s < step; s++) RIGHT(k + s, c) -= SYM(i, k + s) * RIGHT(i, c);
            if (p != k) OWN(exchanged)(&RIGHT(k, c), &RIGHT(p, c));
        }
    }
}
#undef RIGHT

/* Are D's blocks of one not zero? The number of one that is, or 0. */
static int OWN(no_inverse)(int up, int n, const T *a, int lda, const int *pivots) {
    for (int i = 0; i < n; i++) {
        int k = up ? n - 1 - i : i;
        if (pivots[k] > 0 && *AT(a, lda, k, k) == 0) return k + 1;
    }
    return 0;
}

#define WRONG(columns) \
    int up = is(*uplo, 'U'); \
    *info = !up && !is(*uplo, 'L') ? -1 : *n < 0 ? -2 : (columns) < 0 ? -3 : 0

void FORTRAN(sytrf)(const char *uplo, const int *n, T *a, const int *lda, int *pivots, T *work, const int *lwork, int *info) {
    WRONG(0);
    if (*info == 0) *info = *lda < MOST(1, *n) ? -4 : *lwork < 1 && *lwork != -1 ? -7 : 0;
    if (*info == 0) *work = MOST(1, *n);
    if (*info == 0 && *lwork != -1) *info = OWN(bunch_kaufman)(up, *n, a, *lda, pivots);
}
void FORTRAN(sytf2)(const char *uplo, const int *n, T *a, const int *lda, int *pivots, int *info) {
    WRONG(0);
    if (*info == 0) *info = *lda < MOST(1, *n) ? -4 : OWN(bunch_kaufman)(up, *n, a, *lda, pivots);
}
void FORTRAN(sytrs)(const char *uplo, const int *n, const int *nrhs, const T *a, const int *lda, const int *pivots, T *b,
                    const int *ldb, int *info) {
    WRONG(*nrhs);
    if (*info == 0) *info = *lda < MOST(1, *n) ? -5 : *ldb < MOST(1, *n) ? -8 : 0;
    if (*info == 0) OWN(after_bunch_kaufman)(up, *n, *nrhs, a, *lda, pivots, b, *ldb);
}
void FORTRAN(sysv)(const char *uplo, const int *n, const int *nrhs, T *a, const int *lda, int *pivots, T *b, const int *ldb,
                   T *work, const int *lwork, int *info) {
    WRONG(*nrhs);
    if (*info == 0)
        *info = *lda < MOST(1, *n) ? -5 : *ldb < MOST(1, *n) ? -8 : *lwork < 1 && *lwork != -1 ? -10 : 0;
    if (*info == 0) *work = MOST(1, *n);
    if (*info != 0 || *lwork == -1) return;
    *info = OWN(bunch_kaufman)(up, *n, a, *lda, pivots);
    if (*info == 0) OWN(after_bunch_kaufman)(up, *n, *nrhs, a, *lda, pivots, b, *ldb);
}
void FORTRAN(sytri)(const char *uplo, const int *n, T *a, const int *lda, const int *pivots, T *work, int *info) {
    WRONG(0);
    if (*info == 0) *info = *lda < MOST(1, *n) ? -4 : OWN(no_inverse)(up, *n, a, *lda, pivots);
    if (*info != 0) return;
    T *by = SCRATCH(*n, *n);
    for (int j = 0; j < *n; j++)
        for (int i = 0; i < *n; i++) by[i + (long)j * *n] = i == j;
    OWN(after_bunch_kaufman)(up, *n, *n, a, *lda, pivots, by, *n);
    for (int j = 0; j < *n; j++)
        for (int i = up ? 0 : j; i < (up ? j + 1 : *n); i++) *AT(a, *lda, i, j) = *AT(by, *n, i, j);
    free(by);
}
#undef WRONG
#undef FOUND
#undef PIVOT
#undef NAME_OF
#undef SYM

/* --- by value, in either order: matrices by rows are turned, worked on, and turned back */

/* Runs `call` with the matrix and the right hand sides by columns in `by` and `to`, whose leading dimensions are `ld` and `ldt`. */
#define BY_COLUMNS(least_a, least_b, call) \
    int info, size = MOST(1, n), turned = order == ROWS, ld = turned ? size : lda, ldt = turned ? size : ldb; \
    T work[1]; \
    if (order != ROWS && order != COLUMNS) return -1; \
    if (turned && lda < n) return least_a; \
    if (turned && nrhs > 0 && ldb < nrhs) return least_b; \
    T *by = turned ? SCRATCH(n, n) : a, *to = turned && nrhs > 0 ? SCRATCH(n, nrhs) : b; \
    if (turned) OWN(turn)(n, n, a, lda, by, ld); \
    if (turned && nrhs > 0) OWN(turn)(nrhs, n, b, ldb, to, ldt); \
    call; \
    if (turned) OWN(turn)(n, n, by, ld, a, lda); \
    if (turned && nrhs > 0) OWN(turn)(n, nrhs, to, ldt, b, ldb); \
    if (turned && nrhs > 0) free(to); \
    if (turned) free(by); \
    return info < 0 ? info - 1 : info

int LAPACKE(sytrf)(int order, char uplo, int n, T *a, int lda, int *pivots) {
    int nrhs = 0, ldb = 1;
    T *b = a;
    BY_COLUMNS(-5, -9, FORTRAN(sytrf)(&uplo, &n, by, &ld, pivots, work, &size, &info));
}
int LAPACKE(sytri)(int order, char uplo, int n, T *a, int lda, const int *pivots) {
    int nrhs = 0, ldb = 1;
    T *b = a;
    BY_COLUMNS(-5, -9, FORTRAN(sytri)(&uplo, &n, by, &ld, pivots, work, &info));
}
int LAPACKE(sytrs)(int order, char uplo, int n, int nrhs, T *a, int lda, const int *pivots, T *b, int ldb) {
    BY_COLUMNS(-6, -9, FORTRAN(sytrs)(&uplo, &n, &nrhs, by, &ld, pivots, to, &ldt, &info));
}
int LAPACKE(sysv)(int order, char uplo, int n, int nrhs, T *a, int lda, int *pivots, T *b, int ldb) {
    BY_COLUMNS(-6, -9, FORTRAN(sysv)(&uplo, &n, &nrhs, by, &ld, pivots, to, &ldt, work, &size, &info));
}
#undef BY_COLUMNS
