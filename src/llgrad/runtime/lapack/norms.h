/* Norms and condition numbers of real matrices, for one type: see lapack.h. Included by lapack.c.
 *
 * A condition number is an estimate |V| / |W| of the norm of an inverse, where V = inverse(A) W, for a W that the library finds
 * (Higham and Tisseur 2000). W counts as constant: the derivative is that of the estimate while the same W is found.
 */

/* A matrix of m times n whose element (i, j) is near the diagonal: below it by at most kl, above by at most ku. */
typedef struct {
    int m, n, kl, ku, band, symmetric, up, unit, lda;
    const T *a;
} OWN(matrix);

static inline T OWN(element)(OWN(matrix) x, int i, int j) {
    if (x.unit && i == j) return 1;
    if (x.symmetric && x.up ? i > j : x.symmetric && i < j) {
        int k = i;
        i = j, j = k;
    }
    return x.a[(x.band ? x.symmetric && !x.up ? i - j : x.ku + i - j : i) + (long)j * x.lda];
}

static inline T OWN(root)(T x) {
    return sizeof(T) == 4 ? (T)__builtin_sqrtf((float)x) : (T)__builtin_sqrt((double)x);
}

/* The largest number, the largest sum of a column ('1') or a row ('I'), or the root of the sum of squares ('F'). */
static T OWN(norm)(char kind, OWN(matrix) x) {
    int largest = is(kind, 'M'), frobenius = is(kind, 'F') || is(kind, 'E'), rows = is(kind, 'I');
    int lines = rows ? x.m : x.n, others = rows ? x.n : x.m;
    T found = 0;
    for (int p = 0; p < lines; p++) {
        T sum = 0;
        int first = MOST(0, p - (rows ? x.kl : x.ku)), end = LEAST(others, p + (rows ? x.ku : x.kl) + 1);
        for (int q = first; q < end; q++) {
            T v = rows ? OWN(element)(x, p, q) : OWN(element)(x, q, p), size = v < 0 ? -v : v;
            if (frobenius) found += v * v;
            else if (!largest) sum += size;
            else if (size > sum || size != size) sum = size;
        }
        if (!frobenius && (sum > found || sum != sum)) found = sum;
    }
    return !frobenius ? found : found == 0 ? 0 : OWN(root)(found);
}

T FORTRAN(lange)(const char *kind, const int *m, const int *n, const T *a, const int *lda, T *work) {
    OWN(matrix) x = {*m, *n, *m, *n, 0, 0, 0, 0, *lda, a};
    return OWN(norm)(*kind, x);
}
T FORTRAN(lansy)(const char *kind, const char *uplo, const int *n, const T *a, const int *lda, T *work) {
    OWN(matrix) x = {*n, *n, *n, *n, 0, 1, is(*uplo, 'U'), 0, *lda, a};
    return OWN(norm)(*kind, x);
}
T FORTRAN(lantr)(const char *kind, const char *uplo, const char *diag, const int *m, const int *n, const T *a, const int *lda,
                 T *work) {
    int up = is(*uplo, 'U');
    OWN(matrix) x = {*m, *n, up ? 0 : *m, up ? *n : 0, 0, 0, up, is(*diag, 'U'), *lda, a};
    return OWN(norm)(*kind, x);
}
T FORTRAN(langb)(const char *kind, const int *n, const int *kl, const int *ku, const T *a, const int *lda, T *work) {
    OWN(matrix) x = {*n, *n, *kl, *ku, 1, 0, 0, 0, *lda, a};
    return OWN(norm)(*kind, x);
}
T FORTRAN(lansb)(const char *kind, const char *uplo, const int *n, const int *k, const T *a, const int *lda, T *work) {
    OWN(matrix) x = {*n, *n, *k, *k, 1, 1, is(*uplo, 'U'), 0, *lda, a};
    return OWN(norm)(*kind, x);
}

/* By rows, a matrix is its transpose by columns. */
T LAPACKE(lange)(int order, char kind, int m, int n, const T *a, int lda) {
    int rows = order == ROWS;
    if (order != ROWS && order != COLUMNS) return -1;
    OWN(matrix) x = {rows ? n : m, rows ? m : n, rows ? n : m, rows ? m : n, 0, 0, 0, 0, lda, a};
    return OWN(norm)(!rows ? kind : is(kind, 'I') ? '1' : is(kind, 'O') || kind == '1' ? 'I' : kind, x);
}
T LAPACKE(lansy)(int order, char kind, char uplo, int n, const T *a, int lda) {
    if (order != ROWS && order != COLUMNS) return -1;
    OWN(matrix) x = {n, n, n, n, 0, 1, is(uplo, 'U') != (order == ROWS), 0, lda, a};
    return OWN(norm)(kind, x);
}

/* --- condition numbers */

void BLAS(gecon)(const char *, const int *, const T *, const int *, const T *, T *, T *, int *, int *);
void BLAS(pocon)(const char *, const int *, const T *, const int *, const T *, T *, T *, int *, int *);
void BLAS(trcon)(const char *, const char *, const char *, const int *, const T *, const int *, T *, T *, int *, int *);

/* w = op(triangle of a) w */
static void OWN(times_triangle)(int up, int turned, int unit, int n, const T *a, int lda, T *w) {
    int upper = up != turned;
    for (int s = 0; s < n; s++) {
        int i = upper ? s : n - 1 - s;
        T sum = unit ? w[i] : *AT(a, lda, i, i) * w[i];
        for (int j = upper ? i + 1 : 0; j < (upper ? n : i); j++) sum += (turned ? *AT(a, lda, j, i) : *AT(a, lda, i, j)) * w[j];
        w[i] = sum;
    }
}

/* The library's W for the norm of the inverse, of what is factored in a; 1 where it finds none. No derivative passes through
 * here: `lapack.py` says so. */
__attribute__((noinline)) static int OWN(estimated)(int which, char kind, char uplo, char diag, int n, const T *a, int lda, T *w) {
    int info, up = is(uplo, 'U'), rows = is(kind, 'I'), *integers = malloc(sizeof(int) * (unsigned long)n);
    T one = 1, found = 0, *work = SCRATCH(4, n), size = 0;
    for (int i = 0; i < 4 * n; i++) work[i] = 0;
    if (which == FACTORS) BLAS(gecon)(&kind, &n, a, &lda, &one, &found, work, integers, &info);
    else if (which == CHOLESKY) BLAS(pocon)(&uplo, &n, a, &lda, &one, &found, work, integers, &info);
    else BLAS(trcon)(&kind, &uplo, &diag, &n, a, &lda, &found, work, integers, &info);
    for (int i = 0; i < n; i++) w[i] = work[n + i];
    if (which == FACTORS) {  /* W = L U V, or transposed U times transposed L times V */
        OWN(times_triangle)(!rows, rows, rows, n, a, lda, w);
        OWN(times_triangle)(rows, rows, !rows, n, a, lda, w);
    } else if (which == CHOLESKY) {
        OWN(times_triangle)(up, !up, 0, n, a, lda, w);
        OWN(times_triangle)(up, up, 0, n, a, lda, w);
    } else {
        OWN(times_triangle)(up, rows, is(diag, 'U'), n, a, lda, w);
    }
    for (int i = 0; i < n; i++) size += w[i] < 0 ? -w[i] : w[i];
    free(work);
    free(integers);
    return info != 0 || !(found > 0) || !(size > 0) || size * 0 != 0;
}

/* One divided by the norm of the inverse of what is factored, and by `norm`. */
static T OWN(condition)(int which, char kind, char uplo, char diag, int n, const T *a, int lda, T norm) {
    int up = is(uplo, 'U'), rows = is(kind, 'I');
    T *w = SCRATCH(n, 1), size = 0, inverse = 0, found = 0;
    if (!OWN(estimated)(which, kind, uplo, diag, n, a, lda, w)) {
        for (int i = 0; i < n; i++) size += w[i] < 0 ? -w[i] : w[i];
        if (which == FACTORS) {
            OWN(solve)(rows ? 'U' : 'L', rows ? 'T' : 'N', rows ? 'N' : 'U', n, 1, a, lda, w, n);
            OWN(solve)(rows ? 'L' : 'U', rows ? 'T' : 'N', rows ? 'U' : 'N', n, 1, a, lda, w, n);
        } else if (which == CHOLESKY) {
            OWN(after_cholesky)(up, n, 1, a, lda, w, n);
        } else {
            OWN(solve)(uplo, rows ? 'T' : 'N', diag, n, 1, a, lda, w, n);
        }
        for (int i = 0; i < n; i++) inverse += w[i] < 0 ? -w[i] : w[i];
        found = size / inverse / norm;
    }
    free(w);
    return found;
}
#define KIND(kind) (is(kind, 'I') || is(kind, 'O') || (kind) == '1')

void FORTRAN(gecon)(const char *kind, const int *n, const T *a, const int *lda, const T *norm, T *found, T *work, int *iwork,
                    int *info) {
    *info = !KIND(*kind) ? -1 : *n < 0 ? -2 : *lda < MOST(1, *n) ? -4 : *norm < 0 ? -5 : 0;
    if (*info == 0) *found = *n == 0 ? 1 : *norm == 0 ? 0 : OWN(condition)(FACTORS, *kind, 'U', 'N', *n, a, *lda, *norm);
}
void FORTRAN(pocon)(const char *uplo, const int *n, const T *a, const int *lda, const T *norm, T *found, T *work, int *iwork,
                    int *info) {
    *info = !is(*uplo, 'U') && !is(*uplo, 'L') ? -1 : *n < 0 ? -2 : *lda < MOST(1, *n) ? -4 : *norm < 0 ? -5 : 0;
    if (*info == 0) *found = *n == 0 ? 1 : *norm == 0 ? 0 : OWN(condition)(CHOLESKY, '1', *uplo, 'N', *n, a, *lda, *norm);
}
void FORTRAN(trcon)(const char *kind, const char *uplo, const char *diag, const int *n, const T *a, const int *lda, T *found,
                    T *work, int *iwork, int *info) {
    *info = !KIND(*kind) ? -1 : !is(*uplo, 'U') && !is(*uplo, 'L') ? -2 : !is(*diag, 'U') && !is(*diag, 'N') ? -3
        : *n < 0 ? -4 : *lda < MOST(1, *n) ? -6 : 0;
    if (*info != 0) return;
    T norm = FORTRAN(lantr)(kind, uplo, diag, n, n, a, lda, work);
    *found = *n == 0 ? 1 : norm > 0 ? OWN(condition)(TRIANGLE, *kind, *uplo, *diag, *n, a, *lda, norm) : 0;
}

/* By rows: factors are those of a turned once more; what is symmetric is its own transpose. */
int LAPACKE(gecon)(int order, char kind, int n, const T *a, int lda, T norm, T *found) {
    int info, ld = MOST(1, n);
    if (order != ROWS && order != COLUMNS) return -1;
    if (order == COLUMNS) {
        FORTRAN(gecon)(&kind, &n, a, &lda, &norm, found, (T *)0, (int *)0, &info);
    } else {
        if (lda < n) return -5;
        T *by = SCRATCH(n, n);
        OWN(turn)(n, n, a, lda, by, ld);
        FORTRAN(gecon)(&kind, &n, by, &ld, &norm, found, (T *)0, (int *)0, &info);
        free(by);
    }
    return info < 0 ? info - 1 : info;
}
int LAPACKE(pocon)(int order, char uplo, int n, const T *a, int lda, T norm, T *found) {
    int info;
    char own = order == COLUMNS ? uplo : is(uplo, 'U') ? 'L' : is(uplo, 'L') ? 'U' : uplo;
    if (order != ROWS && order != COLUMNS) return -1;
    FORTRAN(pocon)(&own, &n, a, &lda, &norm, found, (T *)0, (int *)0, &info);
    return info < 0 ? info - 1 : info;
}

/* --- the inverse of a triangle */

void FORTRAN(trtri)(const char *uplo, const char *diag, const int *n, T *a, const int *lda, int *info) {
    int up = is(*uplo, 'U'), unit = is(*diag, 'U'), ld = MOST(1, *n);
    *info = !up && !is(*uplo, 'L') ? -1 : !unit && !is(*diag, 'N') ? -2 : *n < 0 ? -3 : *lda < MOST(1, *n) ? -5 : 0;
    if (*info == 0 && !unit) *info = OWN(singular)(*n, a, *lda);
    if (*info != 0) return;
    T *by = SCRATCH(*n, *n);
    for (int j = 0; j < *n; j++)
        for (int i = 0; i < *n; i++) *AT(by, ld, i, j) = i == j;
    OWN(solve)(*uplo, 'N', *diag, *n, *n, a, *lda, by, ld);
    for (int j = 0; j < *n; j++)
        for (int i = up ? 0 : j + unit; i < (up ? j + 1 - unit : *n); i++) *AT(a, *lda, i, j) = *AT(by, ld, i, j);
    free(by);
}
int LAPACKE(trtri)(int order, char uplo, char diag, int n, T *a, int lda) {
    int info;
    char own = order == COLUMNS ? uplo : is(uplo, 'U') ? 'L' : is(uplo, 'L') ? 'U' : uplo;
    if (order != ROWS && order != COLUMNS) return -1;
    FORTRAN(trtri)(&own, &diag, &n, a, &lda, &info);
    return info < 0 ? info - 1 : info;
}
