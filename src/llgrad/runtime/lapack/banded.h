/* Factors of band and tridiagonal matrices, for one type, element by element: see lapack.h. Included by lapack.c. */

/* Factors of a band matrix by columns, with the rows that were exchanged: 0, or the number of the first pivot that is zero. Element
 * (i, j) is at kl + ku + i - j of column j, whose first kl places are for what the exchanges move above the band. */
static int OWN(band_factors)(int m, int n, int kl, int ku, T *a, int lda, int *pivots) {
    int zero = 0, wide = kl + ku;
    for (int j = 0; j < n; j++)
        for (int i = MOST(0, j - wide); i < j - ku; i++) a[wide + i - j + (long)j * lda] = 0;
    for (int k = 0; k < LEAST(m, n); k++) {
        int p = k, end = LEAST(m, k + kl + 1);
        T largest = 0;
        for (int i = k; i < end; i++) {
            T v = a[wide + i - k + (long)k * lda], size = v < 0 ? -v : v;
            if (size > largest) largest = size, p = i;
        }
        pivots[k] = p + 1;
        if (largest == 0) {
            if (!zero) zero = k + 1;
            continue;
        }
        for (int j = k; p != k && j < LEAST(n, k + wide + 1); j++) {
            T *x = a + wide + (long)j * lda - j, v = x[k];
            x[k] = x[p], x[p] = v;
        }
        T *d = a + wide + (long)k * lda - k, inverse = 1 / d[k];
        for (int i = k + 1; i < end; i++) d[i] *= inverse;
        for (int j = k + 1; j < LEAST(n, k + wide + 1); j++) {
            T *x = a + wide + (long)j * lda - j;
            for (int i = k + 1; i < end; i++) x[i] -= d[i] * x[k];
        }
    }
    return zero;
}

static void OWN(after_band)(int turned, int n, int kl, int ku, int nrhs, const T *a, int lda, const int *pivots, T *b, int ldb) {
    int wide = kl + ku;
    for (int r = 0; r < nrhs; r++) {
        T *x = b + (long)r * ldb;
        for (int k = 0; !turned && k < n; k++) {
            T v = x[pivots[k] - 1];
            x[pivots[k] - 1] = x[k], x[k] = v;
            for (int i = k + 1; i < LEAST(n, k + kl + 1); i++) x[i] -= a[wide + i - k + (long)k * lda] * v;
        }
        for (int s = 0; s < n; s++) {
            int k = turned ? s : n - 1 - s;
            T v = x[k];
            if (turned)
                for (int i = MOST(0, k - wide); i < k; i++) v -= a[wide + i - k + (long)k * lda] * x[i];
            x[k] = v = v / a[wide + (long)k * lda];
            if (!turned)
                for (int i = MOST(0, k - wide); i < k; i++) x[i] -= a[wide + i - k + (long)k * lda] * v;
        }
        for (int k = n - 1; turned && k >= 0; k--) {
            T v = x[k];
            for (int i = k + 1; i < LEAST(n, k + kl + 1); i++) v -= a[wide + i - k + (long)k * lda] * x[i];
            x[k] = x[pivots[k] - 1], x[pivots[k] - 1] = v;
        }
    }
}

void FORTRAN(gbtrf)(const int *m, const int *n, const int *kl, const int *ku, T *a, const int *lda, int *pivots, int *info) {
    *info = *m < 0 ? -1 : *n < 0 ? -2 : *kl < 0 ? -3 : *ku < 0 ? -4 : *lda < 2 * *kl + *ku + 1 ? -6 : 0;
    if (*info == 0) *info = OWN(band_factors)(*m, *n, *kl, *ku, a, *lda, pivots);
}
void FORTRAN(gbtrs)(const char *trans, const int *n, const int *kl, const int *ku, const int *nrhs, const T *a, const int *lda,
                    const int *pivots, T *b, const int *ldb, int *info) {
    int turned = is(*trans, 'T') || is(*trans, 'C');
    *info = !turned && !is(*trans, 'N') ? -1 : *n < 0 ? -2 : *kl < 0 ? -3 : *ku < 0 ? -4 : *nrhs < 0 ? -5
        : *lda < 2 * *kl + *ku + 1 ? -7 : *ldb < MOST(1, *n) ? -10 : 0;
    if (*info == 0) OWN(after_band)(turned, *n, *kl, *ku, *nrhs, a, *lda, pivots, b, *ldb);
}
void FORTRAN(gbsv)(const int *n, const int *kl, const int *ku, const int *nrhs, T *a, const int *lda, int *pivots, T *b,
                   const int *ldb, int *info) {
    *info = *n < 0 ? -1 : *kl < 0 ? -2 : *ku < 0 ? -3 : *nrhs < 0 ? -4 : *lda < 2 * *kl + *ku + 1 ? -6
        : *ldb < MOST(1, *n) ? -9 : 0;
    if (*info == 0) *info = OWN(band_factors)(*n, *n, *kl, *ku, a, *lda, pivots);
    if (*info == 0) OWN(after_band)(0, *n, *kl, *ku, *nrhs, a, *lda, pivots, b, *ldb);
}

/* --- condition numbers: see norms.h */

void BLAS(gbcon)(const char *, const int *, const int *, const int *, const T *, const int *, const int *, const T *, T *, T *,
                 int *, int *);

/* The library's W for the norm of the inverse of a factored band matrix; 1 where it finds none. No derivative passes through here. */
__attribute__((noinline)) static int OWN(estimated_band)(char kind, int n, int kl, int ku, const T *a, int lda, const int *pivots,
                                                         T *w) {
    int info, wide = kl + ku, rows = is(kind, 'I'), *integers = malloc(sizeof(int) * (unsigned long)n);
    T one = 1, found = 0, *work = SCRATCH(3, n), *x = work + n, size = 0;
    for (int i = 0; i < 3 * n; i++) work[i] = 0;
    BLAS(gbcon)(&kind, &n, &kl, &ku, a, &lda, pivots, &one, &found, work, integers, &info);
    for (int k = 0; rows && k < n; k++) {
        T v = x[pivots[k] - 1];
        x[pivots[k] - 1] = x[k], x[k] = v;
        for (int i = k + 1; i < LEAST(n, k + kl + 1); i++) x[k] += a[wide + i - k + (long)k * lda] * x[i];
    }
    for (int i = 0; i < n; i++) w[i] = 0;
    for (int j = 0; j < n; j++)
        for (int i = MOST(0, j - wide); i <= j; i++) {
            T v = a[wide + i - j + (long)j * lda];
            if (rows) w[j] += v * x[i];
            else w[i] += v * x[j];
        }
    for (int k = n - 1; !rows && k >= 0; k--) {
        for (int i = k + 1; i < LEAST(n, k + kl + 1); i++) w[i] += a[wide + i - k + (long)k * lda] * w[k];
        T v = w[pivots[k] - 1];
        w[pivots[k] - 1] = w[k], w[k] = v;
    }
    for (int i = 0; i < n; i++) size += w[i] < 0 ? -w[i] : w[i];
    free(work);
    free(integers);
    return info != 0 || !(found > 0) || !(size > 0) || size * 0 != 0;
}

void FORTRAN(gbcon)(const char *kind, const int *n, const int *kl, const int *ku, const T *a, const int *lda, const int *pivots,
                    const T *norm, T *found, T *work, int *iwork, int *info) {
    *info = !KIND(*kind) ? -1 : *n < 0 ? -2 : *kl < 0 ? -3 : *ku < 0 ? -4 : *lda < 2 * *kl + *ku + 1 ? -6 : *norm < 0 ? -8 : 0;
    if (*info != 0) return;
    T *w = SCRATCH(*n, 1), size = 0, inverse = 0;
    *found = *n == 0;
    if (*n > 0 && *norm > 0 && !OWN(estimated_band)(*kind, *n, *kl, *ku, a, *lda, pivots, w)) {
        for (int i = 0; i < *n; i++) size += w[i] < 0 ? -w[i] : w[i];
        OWN(after_band)(is(*kind, 'I'), *n, *kl, *ku, 1, a, *lda, pivots, w, *n);
        for (int i = 0; i < *n; i++) inverse += w[i] < 0 ? -w[i] : w[i];
        *found = size / inverse / *norm;
    }
    free(w);
}
#undef KIND

/* --- Cholesky */

/* Element (i, j) of the lower factor, i >= j: that of the upper one is its transpose. */
static inline T *OWN(in_band)(int up, int k, T *a, int lda, int i, int j) {
    return up ? a + k + j - i + (long)i * lda : a + i - j + (long)j * lda;
}

static int OWN(band_cholesky)(int up, int n, int k, T *a, int lda) {
    for (int j = 0; j < n; j++) {
        T *d = OWN(in_band)(up, k, a, lda, j, j);
        if (!(*d > 0)) return j + 1;
        T root = OWN(root)(*d), inverse = 1 / root;
        *d = root;
        for (int i = j + 1; i < LEAST(n, j + k + 1); i++) *OWN(in_band)(up, k, a, lda, i, j) *= inverse;
        for (int p = j + 1; p < LEAST(n, j + k + 1); p++)
            for (int i = p; i < LEAST(n, j + k + 1); i++)
                *OWN(in_band)(up, k, a, lda, i, p) -= *OWN(in_band)(up, k, a, lda, i, j) * *OWN(in_band)(up, k, a, lda, p, j);
    }
    return 0;
}

static void OWN(after_band_cholesky)(int up, int n, int k, int nrhs, const T *a, int lda, T *b, int ldb) {
    for (int r = 0; r < nrhs; r++) {
        T *x = b + (long)r * ldb;
        for (int j = 0; j < n; j++) {
            x[j] /= *OWN(in_band)(up, k, (T *)a, lda, j, j);
            for (int i = j + 1; i < LEAST(n, j + k + 1); i++) x[i] -= *OWN(in_band)(up, k, (T *)a, lda, i, j) * x[j];
        }
        for (int j = n - 1; j >= 0; j--) {
            for (int i = j + 1; i < LEAST(n, j + k + 1); i++) x[j] -= *OWN(in_band)(up, k, (T *)a, lda, i, j) * x[i];
            x[j] /= *OWN(in_band)(up, k, (T *)a, lda, j, j);
        }
    }
}

void FORTRAN(pbtrf)(const char *uplo, const int *n, const int *k, T *a, const int *lda, int *info) {
    int up = is(*uplo, 'U');
    *info = !up && !is(*uplo, 'L') ? -1 : *n < 0 ? -2 : *k < 0 ? -3 : *lda < *k + 1 ? -5 : 0;
    if (*info == 0) *info = OWN(band_cholesky)(up, *n, *k, a, *lda);
}
void FORTRAN(pbtrs)(const char *uplo, const int *n, const int *k, const int *nrhs, const T *a, const int *lda, T *b,
                    const int *ldb, int *info) {
    int up = is(*uplo, 'U');
    *info = !up && !is(*uplo, 'L') ? -1 : *n < 0 ? -2 : *k < 0 ? -3 : *nrhs < 0 ? -4 : *lda < *k + 1 ? -6
        : *ldb < MOST(1, *n) ? -8 : 0;
    if (*info == 0) OWN(after_band_cholesky)(up, *n, *k, *nrhs, a, *lda, b, *ldb);
}
void FORTRAN(pbsv)(const char *uplo, const int *n, const int *k, const int *nrhs, T *a, const int *lda, T *b, const int *ldb,
                   int *info) {
    int up = is(*uplo, 'U');
    *info = !up && !is(*uplo, 'L') ? -1 : *n < 0 ? -2 : *k < 0 ? -3 : *nrhs < 0 ? -4 : *lda < *k + 1 ? -6
        : *ldb < MOST(1, *n) ? -8 : 0;
    if (*info == 0) *info = OWN(band_cholesky)(up, *n, *k, a, *lda);
    if (*info == 0) OWN(after_band_cholesky)(up, *n, *k, *nrhs, a, *lda, b, *ldb);
}

/* --- tridiagonal matrices: diagonals dl, d, du, which become the second upper diagonal of U, its diagonal and the first */

void FORTRAN(gtsv)(const int *n, const int *nrhs, T *dl, T *d, T *du, T *b, const int *ldb, int *info) {
    int last = *n - 1, ld = *ldb;
    *info = *n < 0 ? -1 : *nrhs < 0 ? -2 : ld < MOST(1, *n) ? -7 : 0;
    for (int k = 0; *info == 0 && k < last; k++) {
        T below = dl[k] < 0 ? -dl[k] : dl[k], here = d[k] < 0 ? -d[k] : d[k], beyond = k + 1 < last ? du[k + 1] : 0;
        if (here == 0 && below == 0) {
            *info = k + 1;
        } else if (here >= below) {
            T factor = dl[k] / d[k];
            d[k + 1] -= factor * du[k];
            for (int r = 0; r < *nrhs; r++) b[k + 1 + (long)r * ld] -= factor * b[k + (long)r * ld];
            if (k + 1 < last) dl[k] = 0;
        } else {
            T factor = d[k] / dl[k], v = d[k + 1];
            d[k] = dl[k];
            d[k + 1] = du[k] - factor * v;
            du[k] = v;
            if (k + 1 < last) dl[k] = beyond, du[k + 1] = -factor * beyond;
            for (int r = 0; r < *nrhs; r++) {
                T *x = b + k + (long)r * ld, y = x[0];
                x[0] = x[1], x[1] = y - factor * x[1];
            }
        }
    }
    if (*info == 0 && *n > 0 && d[last] == 0) *info = *n;
    for (int r = 0; *info == 0 && r < *nrhs; r++) {
        T *x = b + (long)r * ld;
        for (int k = last; k >= 0; k--) {
            T v = x[k];
            if (k < last) v -= du[k] * x[k + 1];
            if (k + 1 < last) v -= dl[k] * x[k + 2];
            x[k] = v / d[k];
        }
    }
}
/* A symmetric one that is positive definite: d and e become those of L D L'. */
void FORTRAN(ptsv)(const int *n, const int *nrhs, T *d, T *e, T *b, const int *ldb, int *info) {
    *info = *n < 0 ? -1 : *nrhs < 0 ? -2 : *ldb < MOST(1, *n) ? -6 : 0;
    for (int k = 0; *info == 0 && k < *n; k++) {
        if (!(d[k] > 0)) *info = k + 1;
        else if (k + 1 < *n) {
            T factor = e[k] / d[k];
            d[k + 1] -= factor * e[k];
            e[k] = factor;
        }
    }
    for (int r = 0; *info == 0 && r < *nrhs; r++) {
        T *x = b + (long)r * *ldb;
        for (int k = 1; k < *n; k++) x[k] -= e[k - 1] * x[k - 1];
        for (int k = *n - 1; k >= 0; k--) x[k] = x[k] / d[k] - (k + 1 < *n ? e[k] * x[k + 1] : 0);
    }
}
