/* Eigenvalues and eigenvectors of symmetric matrices, for one type: see lapack.h. Included by lapack.c.
 *
 * The library's vectors X count as constant; two steps of a refinement that converges quadratically (Ogita and Aishima 2018) change
 * nothing about their value, and give what results the derivatives of the exact vectors: by A, up to the third order. Where
 * eigenvalues are equal, symmetric functions of the values have first derivatives; others, and those of vectors, are not a number.
 */

void BLAS(syev)(const char *, const char *, const int *, T *, const int *, T *, T *, const int *, int *);

/* The library's eigenvectors of a in x. No derivative passes through here: `lapack.py` says so. */
__attribute__((noinline)) static int OWN(eigen)(int n, const T *a, T *x, T *w) {
    int info, size = -1;
    T asked;
    for (long i = 0; i < (long)n * n; i++) x[i] = a[i];
    BLAS(syev)("V", "U", &n, x, &n, w, &asked, &size, &info);
    size = (int)asked;
    T *work = SCRATCH(size, 1);
    BLAS(syev)("V", "U", &n, x, &n, w, work, &size, &info);
    free(work);
    return info;
}

/* 0, with a derivative that is not a number. */
static T OWN(nowhere)(T x) {
    T square = 0 * x * x;
    return sizeof(T) == 4 ? (T)__builtin_sqrtf((float)square) : (T)__builtin_sqrt((double)square);
}

/* 0, with a first derivative that is 0, too, and a second that is not a number. */
static T OWN(once)(T x) {
    return sizeof(T) == 4 ? (T)__builtin_powf((float)(0 * x), 1.5f) : (T)__builtin_pow((double)(0 * x), 1.5);
}

/* One step: better values w of the vectors x, and, if `vectors`, better vectors; `near` are values that tell which are equal. */
static void OWN(refine)(int vectors, int last, int n, const T *s, T *x, T *w, const T *near) {
    T one = 1, none = 0, largest = 0, *g = SCRATCH(n, n), *q = SCRATCH(n, n), *sx = SCRATCH(n, n);
    BLAS(gemm)("T", "N", &n, &n, &n, &one, x, &n, x, &n, &none, g, &n);
    BLAS(gemm)("N", "N", &n, &n, &n, &one, s, &n, x, &n, &none, sx, &n);
    BLAS(gemm)("T", "N", &n, &n, &n, &one, x, &n, sx, &n, &none, q, &n);
    for (int j = 0; j < n; j++) {
        T size = near[j] < 0 ? -near[j] : near[j];
        if (size > largest) largest = size;
        w[j] = *AT(q, n, j, j) / *AT(g, n, j, j);
    }
    for (int j = 0; j < n && vectors; j++)
        for (int i = 0; i < n; i++) {
            T gap = near[j] - near[i], *e = AT(q, n, i, j), *r = AT(g, n, i, j);
            if (i == j) *e = (1 - *r) / 2;
            else if ((gap < 0 ? -gap : gap) > 16 * n * (sizeof(T) == 4 ? 1.2e-7 : 2.3e-16) * largest)
                *e = (*e - w[j] * *r) / (w[j] - w[i]);
            else *e = (last ? OWN(nowhere)(*e) : OWN(once)(*e)) - *r / 2;
        }
    if (vectors) {
        for (long i = 0; i < (long)n * n; i++) sx[i] = x[i];
        BLAS(gemm)("N", "N", &n, &n, &n, &one, sx, &n, q, &n, &one, x, &n);
    }
    free(sx);
    free(q);
    free(g);
}

static int OWN(spectrum)(int vectors, int up, int by_rows, int n, T *a, int lda, T *w) {
    T *s = SCRATCH(n, n), *x = SCRATCH(n, n), *near = SCRATCH(n, 1), *first = SCRATCH(n, 1);
    for (int j = 0; j < n; j++)
        for (int i = 0; i <= j; i++) *AT(s, n, i, j) = *AT(s, n, j, i) = up ? *AT(a, lda, i, j) : *AT(a, lda, j, i);
    int info = OWN(eigen)(n, s, x, near);
    if (info == 0) {
        OWN(refine)(1, 0, n, s, x, first, near);
        OWN(refine)(vectors, 1, n, s, x, w, near);
        for (int j = 0; j < n && vectors; j++)
            for (int i = 0; i < n; i++) *(by_rows ? AT(a, lda, j, i) : AT(a, lda, i, j)) = *AT(x, n, i, j);
    }
    free(first);
    free(near);
    free(x);
    free(s);
    return info;
}

#define WRONG (!vectors && !is(*jobz, 'N') ? -1 : !up && !is(*uplo, 'L') ? -2 : *n < 0 ? -3 : *lda < MOST(1, *n) ? -5 : 0)

void FORTRAN(syev)(const char *jobz, const char *uplo, const int *n, T *a, const int *lda, T *w, T *work, const int *lwork,
                   int *info) {
    int vectors = is(*jobz, 'V'), up = is(*uplo, 'U'), size = MOST(1, 3 * *n - 1);
    *info = WRONG;
    if (*info == 0 && *lwork < size && *lwork != -1) *info = -8;
    if (*info == 0) *work = size;
    if (*info == 0 && *lwork != -1 && *n > 0) *info = OWN(spectrum)(vectors, up, 0, *n, a, *lda, w);
}
void FORTRAN(syevd)(const char *jobz, const char *uplo, const int *n, T *a, const int *lda, T *w, T *work, const int *lwork,
                    int *iwork, const int *liwork, int *info) {
    int vectors = is(*jobz, 'V'), up = is(*uplo, 'U'), ask = *lwork == -1 || *liwork == -1;
    int size = *n <= 1 ? 1 : vectors ? 1 + 6 * *n + 2 * *n * *n : 2 * *n + 1, integers = vectors && *n > 1 ? 3 + 5 * *n : 1;
    *info = WRONG;
    if (*info == 0 && !ask) *info = *lwork < size ? -8 : *liwork < integers ? -10 : 0;
    if (*info == 0) *work = size, *iwork = integers;
    if (*info == 0 && !ask && *n > 0) *info = OWN(spectrum)(vectors, up, 0, *n, a, *lda, w);
}
#undef WRONG

static int OWN(spectrum_in)(int order, char jobz, char uplo, int n, T *a, int lda, T *w) {
    int vectors = is(jobz, 'V'), up = is(uplo, 'U');
    if (order != ROWS && order != COLUMNS) return -1;
    if (!vectors && !is(jobz, 'N')) return -2;
    if (!up && !is(uplo, 'L')) return -3;
    if (n < 0) return -4;
    if (lda < MOST(1, n)) return -6;
    return n == 0 ? 0 : OWN(spectrum)(vectors, up != (order == ROWS), order == ROWS, n, a, lda, w);
}
int LAPACKE(syev)(int order, char jobz, char uplo, int n, T *a, int lda, T *w) {
    return OWN(spectrum_in)(order, jobz, uplo, n, a, lda, w);
}
int LAPACKE(syevd)(int order, char jobz, char uplo, int n, T *a, int lda, T *w) {
    return OWN(spectrum_in)(order, jobz, uplo, n, a, lda, w);
}
