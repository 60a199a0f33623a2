/* Eigenvalues and eigenvectors of any square matrix, for one type: see lapack.h. Included by lapack.c.
 *
 * The library's vectors X count as constant; of B = X^-1 A X the diagonal has the values, and what lies beside it mends the vectors,
 * twice, as in spectrum.h (Newton's method; Wilkinson 1965, The Algebraic Eigenvalue Problem, chapter 2). Complex numbers are pairs
 * of real ones: x holds real parts in its n first rows, imaginary ones in the n others. Where values are equal, symmetric functions of
 * them have first derivatives; others, and those of vectors, are not a number.
 */

void BLAS(geev)(const char *, const char *, const int *, const T *, const int *, T *, T *, T *, const int *, T *, const int *, T *,
                const int *, int *);

/* The library's values and vectors of a in wr, wi, vl and vr. No derivative passes through here: `lapack.py` says so. */
__attribute__((noinline)) static int OWN(eigenvectors)(int n, const T *a, T *wr, T *wi, T *vl, T *vr) {
    int info, size = -1;
    T *x = SCRATCH(n, n), asked;
    for (long i = 0; i < (long)n * n; i++) x[i] = a[i];
    BLAS(geev)("V", "V", &n, x, &n, wr, wi, vl, &n, vr, &n, &asked, &size, &info);
    size = (int)asked;
    T *work = SCRATCH(size, 1);
    BLAS(geev)("V", "V", &n, x, &n, wr, wi, vl, &n, vr, &n, work, &size, &info);
    free(work);
    free(x);
    return info;
}

/* One step: values wr + i wi of the vectors x, 2 n times n, and better vectors; `near` (real, then imaginary) tells which are equal. */
static void OWN(mended)(int vectors, int last, int n, const T *a, T *x, T *wr, T *wi, const T *near) {
    int twice = 2 * n, *pivots = malloc(sizeof(int) * 2 * (unsigned long)n);
    T one = 1, none = 0, largest = 0, *b = SCRATCH(twice, n), *both = SCRATCH(twice, twice), *e = SCRATCH(twice, n);
    for (int half = 0; half < 2; half++)
        BLAS(gemm)("N", "N", &n, &n, &n, &one, a, &n, x + half * n, &twice, &none, b + half * n, &twice);
    for (int j = 0; j < n; j++) {
        T size = near[j] * near[j] + near[n + j] * near[n + j];
        if (size > largest) largest = size;
        for (int i = 0; i < n; i++) {
            *AT(both, twice, i, j) = *AT(both, twice, n + i, n + j) = *AT(x, twice, i, j);
            *AT(both, twice, n + i, j) = *AT(x, twice, n + i, j);
            *AT(both, twice, i, n + j) = -*AT(x, twice, n + i, j);
        }
    }
    OWN(factors)(twice, twice, both, twice, pivots);
    OWN(after_factors)(0, twice, n, both, twice, pivots, b, twice);
    for (int j = 0; j < n; j++) wr[j] = *AT(b, twice, j, j), wi[j] = *AT(b, twice, n + j, j);
    for (int j = 0; j < n && vectors; j++)
        for (int i = 0; i < n; i++) {
            T far = near[j] - near[i], apart = near[n + j] - near[n + i], least = 16 * n * (sizeof(T) == 4 ? 1.2e-7 : 2.3e-16);
            T r = *AT(b, twice, i, j), m = *AT(b, twice, n + i, j), *to = AT(e, twice, i, j);
            if (i == j) to[0] = to[n] = 0;
            else if (far * far + apart * apart > least * least * largest) {
                T gap = wr[j] - wr[i], turn = wi[j] - wi[i], size = gap * gap + turn * turn;
                to[0] = (r * gap + m * turn) / size;
                to[n] = (m * gap - r * turn) / size;
            } else {
                to[0] = last ? OWN(nowhere)(r) : OWN(once)(r);
                to[n] = last ? OWN(nowhere)(m) : OWN(once)(m);
            }
        }
    if (vectors) {  /* x (1 + e) */
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++) {
                *AT(both, twice, i, j) = *AT(both, twice, n + i, n + j) = *AT(x, twice, i, j);
                *AT(both, twice, n + i, j) = *AT(x, twice, n + i, j);
                *AT(both, twice, i, n + j) = -*AT(x, twice, n + i, j);
            }
        BLAS(gemm)("N", "N", &twice, &n, &twice, &one, both, &twice, e, &twice, &one, x, &twice);
    }
    free(e);
    free(both);
    free(b);
    free(pivots);
}

/* Refined, in `to`, the vectors v, both as the library stores them (pairs of columns where near's values are complex): of length 1,
 * the largest component real. */
static void OWN(one_side)(int vectors, int n, const T *a, const T *v, T *wr, T *wi, const T *near, T *to, int ldt) {
    int twice = 2 * n;
    T *x = SCRATCH(twice, n), *first = SCRATCH(n, 1), *second = SCRATCH(n, 1);
    for (int j = 0; j < n; j++) {
        T turn = near[n + j];
        for (int i = 0; i < n; i++) {
            *AT(x, twice, i, j) = *AT(v, n, i, turn < 0 ? j - 1 : j);
            *AT(x, twice, n + i, j) = turn > 0 ? *AT(v, n, i, j + 1) : turn < 0 ? -*AT(v, n, i, j) : 0;
        }
    }
    OWN(mended)(1, 0, n, a, x, first, second, near);
    OWN(mended)(vectors, 1, n, a, x, wr, wi, near);
    for (int j = 0; j < n && vectors; j++) {
        T sum = 0, most = -1, c = 1, s = 0, *of = AT(x, twice, 0, j);
        int at = 0;
        if (near[n + j] < 0) continue;
        for (int i = 0; i < n; i++) {
            T square = of[i] * of[i] + of[n + i] * of[n + i];
            sum += square;
            if (square > most) most = square, at = i;
        }
        sum = 1 / OWN(root)(sum);
        if (near[n + j] > 0) {
            T size = OWN(root)(of[at] * of[at] + of[n + at] * of[n + at]);
            c = (of[at] < 0 ? -of[at] : of[at]) / size;
            s = (of[at] < 0 ? of[n + at] : -of[n + at]) / size;
        }
        for (int i = 0; i < n; i++) {
            T r = of[i], m = of[n + i];
            *AT(to, ldt, i, j) = (r * c - m * s) * sum;
            if (near[n + j] > 0) *AT(to, ldt, i, j + 1) = (r * s + m * c) * sum;
        }
    }
    free(second);
    free(first);
    free(x);
}

static int OWN(general)(int lefts, int rights, int n, const T *a, int lda, T *wr, T *wi, T *vl, int ldvl, T *vr, int ldvr) {
    T *x = SCRATCH(n, n), *turned = SCRATCH(n, n), *near = SCRATCH(2 * n, 1), *left = SCRATCH(n, n), *right = SCRATCH(n, n);
    T *values = SCRATCH(2 * n, 1);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) *AT(x, n, i, j) = *AT(turned, n, j, i) = *AT(a, lda, i, j);
    int info = OWN(eigenvectors)(n, x, near, near + n, left, right);
    if (info == 0) {
        OWN(one_side)(rights, n, x, right, wr, wi, near, vr, ldvr);
        if (lefts) OWN(one_side)(1, n, turned, left, values, values + n, near, vl, ldvl);  /* of conjugate values */
    }
    free(values);
    free(right);
    free(left);
    free(near);
    free(turned);
    free(x);
    return info;
}

void FORTRAN(geev)(const char *jobvl, const char *jobvr, const int *n, T *a, const int *lda, T *wr, T *wi, T *vl, const int *ldvl,
                   T *vr, const int *ldvr, T *work, const int *lwork, int *info) {
    int lefts = is(*jobvl, 'V'), rights = is(*jobvr, 'V'), size = MOST(1, (lefts || rights ? 4 : 3) * *n);
    *info = !lefts && !is(*jobvl, 'N') ? -1 : !rights && !is(*jobvr, 'N') ? -2 : *n < 0 ? -3 : *lda < MOST(1, *n) ? -5
        : *ldvl < 1 || (lefts && *ldvl < *n) ? -9 : *ldvr < 1 || (rights && *ldvr < *n) ? -11 : *lwork < size && *lwork != -1 ? -13 : 0;
    if (*info == 0) *work = size;
    if (*info == 0 && *lwork != -1 && *n > 0) *info = OWN(general)(lefts, rights, *n, a, *lda, wr, wi, vl, *ldvl, vr, *ldvr);
}
int LAPACKE(geev)(int order, char jobvl, char jobvr, int n, T *a, int lda, T *wr, T *wi, T *vl, int ldvl, T *vr, int ldvr) {
    int lefts = is(jobvl, 'V'), rights = is(jobvr, 'V'), info;
    if (order != ROWS && order != COLUMNS) return -1;
    if (!lefts && !is(jobvl, 'N')) return -2;
    if (!rights && !is(jobvr, 'N')) return -3;
    if (n < 0) return -4;
    if (lda < MOST(1, n)) return -6;
    if (ldvl < 1 || (lefts && ldvl < n)) return -10;
    if (ldvr < 1 || (rights && ldvr < n)) return -12;
    if (n == 0) return 0;
    if (order == COLUMNS) return OWN(general)(lefts, rights, n, a, lda, wr, wi, vl, ldvl, vr, ldvr);
    T *x = SCRATCH(n, n), *left = SCRATCH(n, n), *right = SCRATCH(n, n);
    OWN(turn)(n, n, a, lda, x, n);
    info = OWN(general)(lefts, rights, n, x, n, wr, wi, left, n, right, n);
    if (info == 0 && lefts) OWN(turn)(n, n, left, n, vl, ldvl);
    if (info == 0 && rights) OWN(turn)(n, n, right, n, vr, ldvr);
    free(right);
    free(left);
    free(x);
    return info;
}
