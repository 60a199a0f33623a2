/* Cholesky and LU of complex matrices, element by element. Included by lapack.c behind complex.h, whose names it uses. */

#define A(i, j) a[(i) + (long)(j) * lda]
#define ZL(name) NAMED(llgrad_lapack_LAPACKE_, COMPLEX, name)
#define ROOM(rows, columns) malloc(sizeof(P) * (unsigned long)(MOST(rows, 1)) * (unsigned long)(MOST(columns, 1)))

static inline P Z(over)(P x, P d) {
    T square = d.r * d.r + d.i * d.i;
    return Z(times)(x, (P){d.r / square, -d.i / square});
}
static inline T Z(size)(P x) { return (x.r < 0 ? -x.r : x.r) + (x.i < 0 ? -x.i : x.i); }

/* b = inverse of op(a) times b: turned if t, conjugated if c */
static void Z(solve)(int up, int t, int c, int unit, int n, int nrhs, const P *a, int lda, P *b, int ldb) {
    int forwards = t ? up : !up;
    for (int j = 0; j < nrhs; j++)
        for (int s = 0; s < n; s++) {
            int k = forwards ? s : n - 1 - s;
            P *y = b + (long)j * ldb, x = y[k];
            if (!unit) y[k] = x = Z(over)(x, Z(as)(c, A(k, k)));
            for (int i = forwards ? k + 1 : 0; i < (forwards ? n : k); i++) {
                P v = Z(times)(Z(as)(c, t ? A(k, i) : A(i, k)), x);
                y[i] = (P){y[i].r - v.r, y[i].i - v.i};
            }
        }
}

static int Z(cholesky)(int up, int n, P *a, int lda) {
    for (int k = 0; k < n; k++) {
        T d = A(k, k).r;
        if (!(d > 0)) {
            A(k, k) = (P){d, 0};
            return k + 1;
        }
        T root = sizeof(T) == 4 ? (T)__builtin_sqrtf((float)d) : (T)__builtin_sqrt((double)d);
        A(k, k) = (P){root, 0};
        for (int i = k + 1; i < n; i++) {
            P *x = up ? &A(k, i) : &A(i, k);
            *x = (P){x->r / root, x->i / root};
        }
        for (int j = k + 1; j < n; j++)
            for (int i = up ? k + 1 : j; i < (up ? j + 1 : n); i++) {
                P v = up ? Z(times)(Z(as)(1, A(k, i)), A(k, j)) : Z(times)(A(i, k), Z(as)(1, A(j, k)));
                A(i, j) = (P){A(i, j).r - v.r, A(i, j).i - v.i};
            }
    }
    return 0;
}
static void Z(after_cholesky)(int up, int n, int nrhs, const P *a, int lda, P *b, int ldb) {
    Z(solve)(up, up, up, 0, n, nrhs, a, lda, b, ldb);
    Z(solve)(up, !up, !up, 0, n, nrhs, a, lda, b, ldb);
}

static int Z(factors)(int m, int n, P *a, int lda, int *pivots) {
    int zero = 0;
    for (int k = 0; k < LEAST(m, n); k++) {
        int p = k;
        for (int i = k + 1; i < m; i++)
            if (Z(size)(A(i, k)) > Z(size)(A(p, k))) p = i;
        pivots[k] = p + 1;
        for (int j = 0; j < n && p != k; j++) {
            P v = A(k, j);
            A(k, j) = A(p, j);
            A(p, j) = v;
        }
        P d = A(k, k);
        if (d.r == 0 && d.i == 0) {
            if (!zero) zero = k + 1;
        } else
            for (int i = k + 1; i < m; i++) A(i, k) = Z(over)(A(i, k), d);
        for (int j = k + 1; j < n; j++)
            for (int i = k + 1; i < m; i++) {
                P v = Z(times)(A(i, k), A(k, j));
                A(i, j) = (P){A(i, j).r - v.r, A(i, j).i - v.i};
            }
    }
    return zero;
}
static void Z(exchange)(int n, P *x, P *y, int ld) {
    for (int j = 0; j < n; j++) {
        P v = x[(long)j * ld];
        x[(long)j * ld] = y[(long)j * ld];
        y[(long)j * ld] = v;
    }
}
static void Z(after_factors)(int t, int c, int n, int nrhs, const P *a, int lda, const int *pivots, P *b, int ldb) {
    for (int k = 0; k < n && !t; k++)
        if (pivots[k] != k + 1) Z(exchange)(nrhs, b + k, b + pivots[k] - 1, ldb);
    Z(solve)(t, t, c, !t, n, nrhs, a, lda, b, ldb);
    Z(solve)(!t, t, c, t, n, nrhs, a, lda, b, ldb);
    for (int k = n - 1; k >= 0 && t; k--)
        if (pivots[k] != k + 1) Z(exchange)(nrhs, b + k, b + pivots[k] - 1, ldb);
}

void ZF(potrf)(const char *uplo, const int *n, P *a, const int *lda, int *info) {
    int up = is(*uplo, 'U');
    *info = !up && !is(*uplo, 'L') ? -1 : *n < 0 ? -2 : *lda < MOST(1, *n) ? -4 : 0;
    if (*info == 0) *info = Z(cholesky)(up, *n, a, *lda);
}
void ZF(potrs)(const char *uplo, const int *n, const int *nrhs, const P *a, const int *lda, P *b, const int *ldb, int *info) {
    int up = is(*uplo, 'U');
    *info = !up && !is(*uplo, 'L') ? -1 : *n < 0 ? -2 : *nrhs < 0 ? -3
        : *lda < MOST(1, *n) ? -5 : *ldb < MOST(1, *n) ? -7 : 0;
    if (*info == 0) Z(after_cholesky)(up, *n, *nrhs, a, *lda, b, *ldb);
}
void ZF(posv)(const char *uplo, const int *n, const int *nrhs, P *a, const int *lda, P *b, const int *ldb, int *info) {
    int up = is(*uplo, 'U');
    *info = !up && !is(*uplo, 'L') ? -1 : *n < 0 ? -2 : *nrhs < 0 ? -3
        : *lda < MOST(1, *n) ? -5 : *ldb < MOST(1, *n) ? -7 : 0;
    if (*info == 0) *info = Z(cholesky)(up, *n, a, *lda);
    if (*info == 0) Z(after_cholesky)(up, *n, *nrhs, a, *lda, b, *ldb);
}
void ZF(getrf)(const int *m, const int *n, P *a, const int *lda, int *pivots, int *info) {
    *info = *m < 0 ? -1 : *n < 0 ? -2 : *lda < MOST(1, *m) ? -4 : 0;
    if (*info == 0) *info = Z(factors)(*m, *n, a, *lda, pivots);
}
void ZF(getrs)(const char *trans, const int *n, const int *nrhs, const P *a, const int *lda, const int *pivots, P *b,
               const int *ldb, int *info) {
    int turned = is(*trans, 'T') || is(*trans, 'C');
    *info = !turned && !is(*trans, 'N') ? -1 : *n < 0 ? -2 : *nrhs < 0 ? -3
        : *lda < MOST(1, *n) ? -5 : *ldb < MOST(1, *n) ? -8 : 0;
    if (*info == 0) Z(after_factors)(turned, is(*trans, 'C'), *n, *nrhs, a, *lda, pivots, b, *ldb);
}
void ZF(gesv)(const int *n, const int *nrhs, P *a, const int *lda, int *pivots, P *b, const int *ldb, int *info) {
    *info = *n < 0 ? -1 : *nrhs < 0 ? -2 : *lda < MOST(1, *n) ? -4 : *ldb < MOST(1, *n) ? -7 : 0;
    if (*info == 0) *info = Z(factors)(*n, *n, a, *lda, pivots);
    if (*info == 0) Z(after_factors)(0, 0, *n, *nrhs, a, *lda, pivots, b, *ldb);
}

/* --- by value: matrices by rows are turned, worked on, and turned back */

static void Z(turn)(int m, int n, const P *a, int lda, P *b, int ldb) {
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) b[j + (long)i * ldb] = A(i, j);
}
/* Runs `call` with m times n numbers at x by columns in `by`, whose leading dimension is `ld`. */
#define IN_ORDER(m, n, x, ldx, by, ld, call) \
    if (order == COLUMNS) { \
        P *by = x; \
        int ld = ldx; \
        call; \
    } else { \
        P *by = ROOM(m, n); \
        int ld = MOST(1, m); \
        Z(turn)(n, m, x, ldx, by, ld); \
        call; \
        Z(turn)(m, n, by, ld, x, ldx); \
        free(by); \
    }
#define CHECKED(wrong) \
    int info = 0; \
    if (order != ROWS && order != COLUMNS) return -1; \
    if (order == ROWS && (wrong)) return wrong;
#define SAID (info < 0 ? info - 1 : info)

int ZL(potrf)(int order, char uplo, int n, P *a, int lda) {
    CHECKED(lda < n ? -5 : 0)
    IN_ORDER(n, n, a, lda, to, ld, ZF(potrf)(&uplo, &n, to, &ld, &info))
    return SAID;
}
int ZL(potrs)(int order, char uplo, int n, int nrhs, const P *a, int lda, P *b, int ldb) {
    CHECKED(lda < n ? -6 : ldb < nrhs ? -8 : 0)
    IN_ORDER(n, nrhs, b, ldb, x, ldx,
             IN_ORDER(n, n, (P *)a, lda, to, ld, ZF(potrs)(&uplo, &n, &nrhs, to, &ld, x, &ldx, &info)))
    return SAID;
}
int ZL(posv)(int order, char uplo, int n, int nrhs, P *a, int lda, P *b, int ldb) {
    CHECKED(lda < n ? -6 : ldb < nrhs ? -8 : 0)
    IN_ORDER(n, nrhs, b, ldb, x, ldx, IN_ORDER(n, n, a, lda, to, ld, ZF(posv)(&uplo, &n, &nrhs, to, &ld, x, &ldx, &info)))
    return SAID;
}
int ZL(getrf)(int order, int m, int n, P *a, int lda, int *pivots) {
    CHECKED(lda < n ? -5 : 0)
    IN_ORDER(m, n, a, lda, to, ld, ZF(getrf)(&m, &n, to, &ld, pivots, &info))
    return SAID;
}
int ZL(getrs)(int order, char trans, int n, int nrhs, const P *a, int lda, const int *pivots, P *b, int ldb) {
    CHECKED(lda < n ? -6 : ldb < nrhs ? -9 : 0)
    IN_ORDER(n, nrhs, b, ldb, x, ldx,
             IN_ORDER(n, n, (P *)a, lda, to, ld, ZF(getrs)(&trans, &n, &nrhs, to, &ld, pivots, x, &ldx, &info)))
    return SAID;
}
int ZL(gesv)(int order, int n, int nrhs, P *a, int lda, int *pivots, P *b, int ldb) {
    CHECKED(lda < n ? -5 : ldb < nrhs ? -8 : 0)
    IN_ORDER(n, nrhs, b, ldb, x, ldx, IN_ORDER(n, n, a, lda, to, ld, ZF(gesv)(&n, &nrhs, to, &ld, pivots, x, &ldx, &info)))
    return SAID;
}
#undef SAID
#undef CHECKED
#undef IN_ORDER
