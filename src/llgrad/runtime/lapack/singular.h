/* Singular values and vectors, for one type: see lapack.h. Included by lapack.c.
 *
 * The library's vectors count as constant, as in spectrum.h; two steps of a refinement that converges quadratically (Ogita and
 * Aishima 2020), with what it leaves out of the vectors' space where a matrix is not square, give the derivatives of the exact ones.
 * Where values are equal, symmetric functions of the values have first derivatives; others, and those of vectors, are not a number.
 */

void BLAS(gesdd)(const char *, const int *, const int *, const T *, const int *, T *, T *, const int *, T *, const int *, T *,
                 const int *, int *, int *);
void BLAS(gesvd)(const char *, const char *, const int *, const int *, const T *, const int *, T *, T *, const int *, T *,
                 const int *, T *, const int *, int *);

/* The library's vectors of a: k of u, l of vt (all that there are, or those of values), and the values. No derivative passes
 * through here: `lapack.py` says so. */
__attribute__((noinline)) static int OWN(triples)(int divided, int m, int n, int k, int l, const T *a, T *u, T *vt, T *s) {
    int info, size = -1, *integers = malloc(sizeof(int) * 8 * (unsigned long)MOST(m, n));
    T *x = SCRATCH(m, n), asked;
    const char *left = k == m ? "A" : "S", *right = l == n ? "A" : "S", *both = k == m && l == n ? "A" : "S";
    for (long i = 0; i < (long)m * n; i++) x[i] = a[i];
    if (divided) BLAS(gesdd)(both, &m, &n, x, &m, s, u, &m, vt, &l, &asked, &size, integers, &info);
    else BLAS(gesvd)(left, right, &m, &n, x, &m, s, u, &m, vt, &l, &asked, &size, &info);
    size = (int)asked;
    T *work = SCRATCH(size, 1);
    if (divided) BLAS(gesdd)(both, &m, &n, x, &m, s, u, &m, vt, &l, work, &size, integers, &info);
    else BLAS(gesvd)(left, right, &m, &n, x, &m, s, u, &m, vt, &l, work, &size, &info);
    free(work);
    free(x);
    free(integers);
    return info;
}

/* One step, for m >= q: better values s of the vectors u and v, and, if `vectors`, better vectors; `near` are values that tell
 * which are equal. */
static void OWN(approach)(int vectors, int last, int m, int q, const T *a, T *u, T *v, T *s, const T *near) {
    T one = 1, none = 0, *av = SCRATCH(m, q), *t = SCRATCH(q, q), *r = SCRATCH(q, q), *p = SCRATCH(q, q), *old = SCRATCH(m, q);
    T *f = SCRATCH(q, q), *g = SCRATCH(q, q), least = 16 * MOST(m, q) * (sizeof(T) == 4 ? 1.2e-7 : 2.3e-16) * near[0];
    BLAS(gemm)("N", "N", &m, &q, &q, &one, a, &m, v, &q, &none, av, &m);
    BLAS(gemm)("T", "N", &q, &q, &m, &one, u, &m, av, &m, &none, t, &q);
    BLAS(gemm)("T", "N", &q, &q, &m, &one, u, &m, u, &m, &none, r, &q);
    BLAS(gemm)("T", "N", &q, &q, &q, &one, v, &q, v, &q, &none, p, &q);
    for (int j = 0; j < q; j++) s[j] = *AT(t, q, j, j) / ((*AT(r, q, j, j) + *AT(p, q, j, j)) / 2);
    for (int j = 0; j < q && vectors; j++)
        for (int i = 0; i < q; i++) {
            T gap = near[j] - near[i], *to = AT(f, q, i, j), *from = AT(g, q, i, j), x = *AT(r, q, i, j), y = *AT(p, q, i, j);
            if (i == j) *to = (1 - x) / 2, *from = (1 - y) / 2;
            else if ((gap < 0 ? -gap : gap) > least) {
                T one_way = *AT(t, q, i, j) - s[j] * x, other = *AT(t, q, j, i) - s[j] * y, apart = (s[j] - s[i]) * (s[j] + s[i]);
                *to = (one_way * s[j] + other * s[i]) / apart;
                *from = (one_way * s[i] + other * s[j]) / apart;
            } else {
                T e = *AT(t, q, i, j) + *AT(t, q, j, i), lost = last ? OWN(nowhere)(e) : OWN(once)(e);
                *to = lost - x / 2;
                *from = lost - y / 2;
            }
        }
    if (vectors) {
        for (long i = 0; i < (long)m * q; i++) old[i] = u[i];
        if (m > q) {  /* (1 - U (U'U)^-1 U') A V / s, U's own part within f */
            T less = -1, *rt = p;
            BLAS(gemm)("N", "N", &q, &q, &q, &one, r, &q, t, &q, &none, rt, &q);
            for (int j = 0; j < q; j++)
                for (int i = 0; i < q; i++) *AT(rt, q, i, j) = 2 * *AT(t, q, i, j) - *AT(rt, q, i, j);
            BLAS(gemm)("N", "N", &m, &q, &q, &less, old, &m, rt, &q, &one, av, &m);
            for (int j = 0; j < q; j++)
                for (int i = 0; i < m; i++) {
                    T x = *AT(av, m, i, j);
                    *AT(u, m, i, j) += near[j] > least ? x / s[j] : last ? OWN(nowhere)(x) : OWN(once)(x);
                }
        }
        BLAS(gemm)("N", "N", &m, &q, &q, &one, old, &m, f, &q, &one, u, &m);
        for (long i = 0; i < (long)q * q; i++) old[i] = v[i];
        BLAS(gemm)("N", "N", &q, &q, &q, &one, old, &q, g, &q, &one, v, &q);
    }
    free(g);
    free(f);
    free(old);
    free(p);
    free(r);
    free(t);
    free(av);
}

/* The values of a, and, if wanted, k of u (m times k) and l of vt (l times n), which may lie over a. Vectors without values have no
 * derivative that is a number. */
static int OWN(decomposed)(int divided, int left_wanted, int right_wanted, int m, int n, int k, int l, const T *a, int lda, T *s,
                           T *u, int ldu, T *vt, int ldvt) {
    int wide = m < n, p = MOST(m, n), q = LEAST(m, n);
    T *x = SCRATCH(m, n), *y = SCRATCH(m, n), *left = SCRATCH(m, k), *right = SCRATCH(l, n), *turned = SCRATCH(l, n);
    T *near = SCRATCH(q, 1), *first = SCRATCH(q, 1);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) *AT(x, m, i, j) = *AT(a, lda, i, j);
    int info = OWN(triples)(divided, m, n, k, l, x, left, right, near);
    if (info == 0) {
        OWN(turn)(l, n, right, l, turned, n);
        if (wide) OWN(turn)(m, n, x, m, y, n);
        T *given = wide ? y : x, *of = wide ? turned : left, *by = wide ? left : turned;
        OWN(approach)(1, 0, p, q, given, of, by, first, near);
        OWN(approach)(left_wanted || right_wanted, 1, p, q, given, of, by, s, near);
        for (int j = 0; j < k && left_wanted; j++)
            for (int i = 0; i < m; i++) *AT(u, ldu, i, j) = *AT(left, m, i, j) + (j < q ? 0 : OWN(nowhere)(first[0]));
        for (int j = 0; j < n && right_wanted; j++)
            for (int i = 0; i < l; i++) *AT(vt, ldvt, i, j) = *AT(turned, n, j, i) + (i < q ? 0 : OWN(nowhere)(first[0]));
    }
    free(first);
    free(near);
    free(turned);
    free(right);
    free(left);
    free(y);
    free(x);
    return info;
}

/* As the library's arguments say: the vectors that jobs ask for, in u, in vt, or over a. */
static int OWN(vectors)(int divided, char jobu, char jobvt, int m, int n, T *a, int lda, T *s, T *u, int ldu, T *vt, int ldvt) {
    int q = LEAST(m, n), k = is(jobu, 'A') ? m : q, l = is(jobvt, 'A') ? n : q, over = is(jobu, 'O'), under = is(jobvt, 'O');
    return OWN(decomposed)(divided, !is(jobu, 'N'), !is(jobvt, 'N'), m, n, k, l, a, lda, s, over ? a : u, over ? lda : ldu,
                           under ? a : vt, under ? lda : ldvt);
}

static int OWN(is_job)(char c) { return is(c, 'A') || is(c, 'S') || is(c, 'O') || is(c, 'N'); }
#define FEW(job, first, all) (is(job, 'A') || is(job, 'S') ? MOST(1, is(job, 'A') ? all : first) : 1)

void FORTRAN(gesvd)(const char *jobu, const char *jobvt, const int *m, const int *n, T *a, const int *lda, T *s, T *u,
                    const int *ldu, T *vt, const int *ldvt, T *work, const int *lwork, int *info) {
    int q = LEAST(*m, *n), size = MOST(1, MOST(3 * q + MOST(*m, *n), 5 * q));
    *info = !OWN(is_job)(*jobu) ? -1 : !OWN(is_job)(*jobvt) || (is(*jobu, 'O') && is(*jobvt, 'O')) ? -2 : *m < 0 ? -3
        : *n < 0 ? -4 : *lda < MOST(1, *m) ? -6 : *ldu < FEW(*jobu, *m, *m) ? -9 : *ldvt < FEW(*jobvt, q, *n) ? -11
        : *lwork < size && *lwork != -1 ? -13 : 0;
    if (*info == 0) *work = size;
    if (*info == 0 && *lwork != -1 && q > 0) {
        *info = OWN(vectors)(0, *jobu, *jobvt, *m, *n, a, *lda, s, u, *ldu, vt, *ldvt);
        for (int i = 1; i < q; i++) work[i] = 0;
    }
}
/* One job for both: what lies over a ('O') are the vectors of the longer side. */
void FORTRAN(gesdd)(const char *jobz, const int *m, const int *n, T *a, const int *lda, T *s, T *u, const int *ldu, T *vt,
                    const int *ldvt, T *work, const int *lwork, int *iwork, int *info) {
    int q = LEAST(*m, *n), size = MOST(1, 4 * q * q + 7 * q + MOST(*m, *n)), over = is(*jobz, 'O'), wide = *m < *n;
    char left = over && wide ? 'A' : *jobz, right = over && !wide ? 'A' : *jobz;
    *info = !OWN(is_job)(*jobz) ? -1 : *m < 0 ? -2 : *n < 0 ? -3 : *lda < MOST(1, *m) ? -5 : *ldu < FEW(left, *m, *m) ? -8
        : *ldvt < FEW(right, q, *n) ? -10 : *lwork < MOST(1, 3 * q + MOST(MOST(*m, *n), 7 * q)) && *lwork != -1 ? -12 : 0;
    if (*info == 0) *work = size;
    if (*info == 0 && *lwork != -1 && q > 0) *info = OWN(vectors)(1, left, right, *m, *n, a, *lda, s, u, *ldu, vt, *ldvt);
}

/* By rows: those of the transposed matrix, whose vectors change sides, as the library has them. */
static int OWN(by_rows)(int divided, char jobu, char jobvt, int m, int n, T *a, int lda, T *s, T *u, int ldu, T *vt, int ldvt) {
    int q = LEAST(m, n), k = is(jobu, 'A') ? m : q, l = is(jobvt, 'A') ? n : q, info;
    T *x = SCRATCH(m, n), *left = SCRATCH(m, k), *right = SCRATCH(l, n);
    OWN(turn)(n, m, a, lda, x, MOST(1, m));
    info = OWN(vectors)(divided, jobu, jobvt, m, n, x, MOST(1, m), s, left, MOST(1, m), right, MOST(1, l));
    OWN(turn)(m, n, x, MOST(1, m), a, lda);
    if (info == 0 && (is(jobu, 'A') || is(jobu, 'S'))) OWN(turn)(m, k, left, MOST(1, m), u, ldu);
    if (info == 0 && (is(jobvt, 'A') || is(jobvt, 'S'))) OWN(turn)(l, n, right, MOST(1, l), vt, ldvt);
    free(right);
    free(left);
    free(x);
    return info;
}
int LAPACKE(gesvd)(int order, char jobu, char jobvt, int m, int n, T *a, int lda, T *s, T *u, int ldu, T *vt, int ldvt, T *superb) {
    int q = LEAST(m, n), rows = order == ROWS;
    if (!rows && order != COLUMNS) return -1;
    if (!OWN(is_job)(jobu)) return -2;
    if (!OWN(is_job)(jobvt) || (is(jobu, 'O') && is(jobvt, 'O'))) return -3;
    if (m < 0) return -4;
    if (n < 0) return -5;
    if (lda < MOST(1, rows ? n : m)) return -7;
    if (ldu < (rows ? FEW(jobu, q, m) : FEW(jobu, m, m))) return -10;
    if (ldvt < (rows ? FEW(jobvt, n, n) : FEW(jobvt, q, n))) return -12;
    for (int i = 0; i + 1 < q; i++) superb[i] = 0;
    if (q == 0) return 0;
    return (rows ? OWN(by_rows) : OWN(vectors))(0, jobu, jobvt, m, n, a, lda, s, u, ldu, vt, ldvt);
}
int LAPACKE(gesdd)(int order, char jobz, int m, int n, T *a, int lda, T *s, T *u, int ldu, T *vt, int ldvt) {
    int q = LEAST(m, n), rows = order == ROWS, over = is(jobz, 'O');
    char left = over && m < n ? 'A' : jobz, right = over && m >= n ? 'A' : jobz;
    if (!rows && order != COLUMNS) return -1;
    if (!OWN(is_job)(jobz)) return -2;
    if (m < 0) return -3;
    if (n < 0) return -4;
    if (lda < MOST(1, rows ? n : m)) return -6;
    if (ldu < (rows ? FEW(left, q, m) : FEW(left, m, m))) return -9;
    if (ldvt < (rows ? FEW(right, n, n) : FEW(right, q, n))) return -11;
    if (q == 0) return 0;
    return (rows ? OWN(by_rows) : OWN(vectors))(1, left, right, m, n, a, lda, s, u, ldu, vt, ldvt);
}
#undef FEW
