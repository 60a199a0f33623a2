/* Eigenvalues and eigenvectors of Hermitian matrices, for one type: spectrum.h says how. Included by lapack.c behind
 * complex_factors.h, whose names it uses.
 *
 * A vector is known but for its phase. The library's have one real element, the last where it reads the upper triangle and else the first
 * (its reduction to a tridiagonal matrix leaves that one alone), and so have the derivatives.
 */

#define ZOWN(name) NAMED(llgrad_lapack_, COMPLEX, name)
#define ZLIB(name) NAMED(COMPLEX, name, _)

void ZLIB(heev)(const char *, const char *, const int *, P *, const int *, T *, P *, const int *, T *, int *);

/* The library's eigenvectors of a in x. No derivative passes through here: `lapack_calls.py` says so. */
__attribute__((noinline)) static int ZOWN(hermitian)(int up, int n, const P *a, P *x, T *w) {
    int info, size = -1;
    P asked;
    T *real = malloc(sizeof(T) * 3 * (unsigned long)n);
    for (long i = 0; i < (long)n * n; i++) x[i] = a[i];
    ZLIB(heev)("V", up ? "U" : "L", &n, x, &n, w, &asked, &size, real, &info);
    size = (int)asked.r;
    P *work = ROOM(size, 1);
    ZLIB(heev)("V", up ? "U" : "L", &n, x, &n, w, work, &size, real, &info);
    free(work);
    free(real);
    return info;
}

/* c = a' b, or a b; all n times n */
static void Z(product)(int turned, int n, const P *a, const P *b, P *c) {
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            P sum = {0, 0};
            for (int k = 0; k < n; k++)
                sum = Z(plus)(sum, Z(times)(turned ? Z(as)(1, a[k + (long)i * n]) : a[i + (long)k * n], b[k + (long)j * n]));
            c[i + (long)j * n] = sum;
        }
}

/* One step, as OWN(refine). */
static void Z(refine)(int vectors, int last, int n, const P *s, P *x, T *w, const T *near) {
    T largest = 0;
    P *g = ROOM(n, n), *q = ROOM(n, n), *sx = ROOM(n, n);
    Z(product)(1, n, x, x, g);
    Z(product)(0, n, s, x, sx);
    Z(product)(1, n, x, sx, q);
    for (int j = 0; j < n; j++) {
        T size = near[j] < 0 ? -near[j] : near[j];
        if (size > largest) largest = size;
        w[j] = q[j + (long)j * n].r / g[j + (long)j * n].r;
    }
    for (int j = 0; j < n && vectors; j++)
        for (int i = 0; i < n; i++) {
            T gap = near[j] - near[i];
            P *e = q + i + (long)j * n, *r = g + i + (long)j * n;
            if (i == j) *e = (P){(1 - r->r) / 2, 0};
            else if ((gap < 0 ? -gap : gap) > 16 * n * (sizeof(T) == 4 ? 1.2e-7 : 2.3e-16) * largest)
                *e = (P){(e->r - w[j] * r->r) / (w[j] - w[i]), (e->i - w[j] * r->i) / (w[j] - w[i])};
            else if (last) *e = (P){OWN(nowhere)(e->r) - r->r / 2, OWN(nowhere)(e->i) - r->i / 2};
            else *e = (P){OWN(once)(e->r) - r->r / 2, OWN(once)(e->i) - r->i / 2};
        }
    if (vectors) {
        Z(product)(0, n, x, q, sx);
        for (long i = 0; i < (long)n * n; i++) x[i] = Z(plus)(x[i], sx[i]);
    }
    free(sx);
    free(q);
    free(g);
}

/* Make element k of x real: its sign stays. Where it is zero, the phase has no derivative. */
static void Z(real_at)(int k, int n, P *x) {
    T square = x[k].r * x[k].r + x[k].i * x[k].i;
    T size = sizeof(T) == 4 ? (T)__builtin_sqrtf((float)square) : (T)__builtin_sqrt((double)square);
    if (size == 0) {
        for (int i = 0; i < n; i++) x[i].r += OWN(nowhere)(x[k].r), x[i].i += OWN(nowhere)(x[k].i);
        return;
    }
    P turn = {x[k].r / (x[k].r < 0 ? -size : size), -x[k].i / (x[k].r < 0 ? -size : size)};
    for (int i = 0; i < n; i++) x[i] = Z(times)(x[i], turn);
}

static int Z(spectrum)(int vectors, int up, int by_rows, int n, P *a, int lda, T *w) {
    P *s = ROOM(n, n), *x = ROOM(n, n);
    T *near = malloc(sizeof(T) * (unsigned long)n), *first = malloc(sizeof(T) * (unsigned long)n);
    for (int j = 0; j < n; j++)
        for (int i = 0; i <= j; i++) {
            int row = up ? i : j, column = up ? j : i;
            P v = by_rows ? A(column, row) : A(row, column);
            if (i == j) v.i = 0;
            s[row + (long)column * n] = v;
            s[column + (long)row * n] = Z(as)(1, v);
        }
    int info = ZOWN(hermitian)(up, n, s, x, near);
    if (info == 0) {
        Z(refine)(1, 0, n, s, x, first, near);
        Z(refine)(vectors, 1, n, s, x, w, near);
        for (int j = 0; j < n && vectors; j++) {
            Z(real_at)(up ? n - 1 : 0, n, x + (long)j * n);
            for (int i = 0; i < n; i++) *(by_rows ? &A(j, i) : &A(i, j)) = x[i + (long)j * n];
        }
    }
    free(first);
    free(near);
    free(x);
    free(s);
    return info;
}

#define WRONG (!vectors && !is(*jobz, 'N') ? -1 : !up && !is(*uplo, 'L') ? -2 : *n < 0 ? -3 : *lda < MOST(1, *n) ? -5 : 0)

void ZF(heev)(const char *jobz, const char *uplo, const int *n, P *a, const int *lda, T *w, P *work, const int *lwork, T *rwork,
              int *info) {
    int vectors = is(*jobz, 'V'), up = is(*uplo, 'U'), size = MOST(1, 2 * *n - 1);
    *info = WRONG;
    if (*info == 0 && *lwork < size && *lwork != -1) *info = -8;
    if (*info == 0) *work = (P){size, 0};
    if (*info == 0 && *lwork != -1 && *n > 0) *info = Z(spectrum)(vectors, up, 0, *n, a, *lda, w);
}
void ZF(heevd)(const char *jobz, const char *uplo, const int *n, P *a, const int *lda, T *w, P *work, const int *lwork, T *rwork,
               const int *lrwork, int *iwork, const int *liwork, int *info) {
    int vectors = is(*jobz, 'V'), up = is(*uplo, 'U'), ask = *lwork == -1 || *lrwork == -1 || *liwork == -1, many = *n > 1;
    int size = !many ? 1 : vectors ? 2 * *n + *n * *n : *n + 1, integers = many && vectors ? 3 + 5 * *n : 1;
    int reals = !many ? 1 : vectors ? 1 + 5 * *n + 2 * *n * *n : *n;
    *info = WRONG;
    if (*info == 0 && !ask) *info = *lwork < size ? -8 : *lrwork < reals ? -10 : *liwork < integers ? -12 : 0;
    if (*info == 0) *work = (P){size, 0}, *rwork = reals, *iwork = integers;
    if (*info == 0 && !ask && *n > 0) *info = Z(spectrum)(vectors, up, 0, *n, a, *lda, w);
}
#undef WRONG

static int Z(spectrum_in)(int order, char jobz, char uplo, int n, P *a, int lda, T *w) {
    int vectors = is(jobz, 'V'), up = is(uplo, 'U');
    if (order != ROWS && order != COLUMNS) return -1;
    if (!vectors && !is(jobz, 'N')) return -2;
    if (!up && !is(uplo, 'L')) return -3;
    if (n < 0) return -4;
    if (lda < MOST(1, n)) return -6;
    return n == 0 ? 0 : Z(spectrum)(vectors, up, order == ROWS, n, a, lda, w);
}
int ZL(heev)(int order, char jobz, char uplo, int n, P *a, int lda, T *w) {
    return Z(spectrum_in)(order, jobz, uplo, n, a, lda, w);
}
int ZL(heevd)(int order, char jobz, char uplo, int n, P *a, int lda, T *w) {
    return Z(spectrum_in)(order, jobz, uplo, n, a, lda, w);
}
#undef ZLIB
#undef ZOWN
#undef ROOM
#undef ZL
#undef A
#undef P
