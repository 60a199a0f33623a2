/* Decompositions, as np.linalg asks LAPACK for them: matrices column by column, what is returned is LAPACK's `info`.
 *
 * They are computed on copies in double precision, by methods whose steps all have derivatives: QR by Householder
 * reflections (signs as LAPACK's), eigenvalues and singular values by Jacobi's rotations. These go on for two sweeps
 * after they have converged, so that first and second derivatives have, too, and no rotation is left out for being by
 * a zero angle. Signs of eigenvectors and singular vectors are what comes of it. Where several eigenvalues are equal,
 * their vectors are any, and so are their derivatives. */
#include "jacobi.h"

extern void llgrad_fail(int32_t code, const void *detail) __attribute__((noreturn));

static int real(int8_t kind) { return kind == 'd' || kind == 's'; }

static double *copied(int8_t kind, const void *from, int64_t m, int64_t n, int64_t step)
{
    double *a = malloc((m * n > 0 ? m * n : 1) * sizeof *a);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            a[i + j * m] = kind == 'd' ? ((const double *)from)[i + j * step] : ((const float *)from)[i + j * step];
    return a;
}

static void stored(int8_t kind, const double *a, int64_t m, int64_t n, void *to, int64_t step)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            if (kind == 'd')
                ((double *)to)[i + j * step] = a[i + j * m];
            else
                ((float *)to)[i + j * step] = a[i + j * m];
}

/* --- QR ------------------------------------------------------------------------------------------------------------ */

/* A column without `scale` of what lies along the reflection v, whose first element, at k, is one. */
static void reflected(double *c, const double *v, double scale, int64_t k, int64_t m)
{
    double w = c[k];
    for (int64_t i = k + 1; i < m; i++)
        w += v[i] * c[i];
    w *= scale;
    c[k] -= w;
    for (int64_t i = k + 1; i < m; i++)
        c[i] -= w * v[i];
}

/* Below the diagonal the reflections, on and above it R. A column that is zero below is where signs jump: refused. */
static void factored(double *a, double *tau, int64_t m, int64_t n)
{
    for (int64_t k = 0; k < m && k < n; k++) {
        double *v = a + k * m, sum = 0;
        for (int64_t i = k + 1; i < m; i++)
            sum += v[i] * v[i];
        tau[k] = 0;
        if (k + 1 == m)
            continue;
        if (sum == 0)
            llgrad_fail(4, 0);
        double norm = __builtin_sqrt(v[k] * v[k] + sum), beta = v[k] >= 0 ? -norm : norm, scale = 1 / (v[k] - beta);
        tau[k] = (beta - v[k]) / beta;
        v[k] = beta;
        for (int64_t i = k + 1; i < m; i++)
            v[i] *= scale;
        for (int64_t j = k + 1; j < n; j++)
            reflected(a + j * m, v, tau[k], k, m);
    }
}

int32_t numba_ez_geqrf(int8_t kind, int64_t m, int64_t n, void *matrix, int64_t lda, void *scales)
{
    if (!real(kind))
        return -1;
    int64_t k = m < n ? m : n;
    double *a = copied(kind, matrix, m, n, lda), *tau = malloc((k > 0 ? k : 1) * sizeof *tau);
    factored(a, tau, m, n);
    stored(kind, a, m, n, matrix, lda);
    stored(kind, tau, k, 1, scales, k);
    free(a);
    free(tau);
    return 0;
}

/* The first n columns of Q, of n reflections. */
int32_t numba_ez_xxgqr(int8_t kind, int64_t m, int64_t n, int64_t count, void *matrix, int64_t lda, const void *scales)
{
    if (!real(kind) || n != count)
        return -1;
    double *a = copied(kind, matrix, m, n, lda), *tau = copied(kind, scales, n, 1, n);
    for (int64_t k = n - 1; k >= 0; k--) {
        double *v = a + k * m;
        for (int64_t j = k + 1; j < n; j++)
            reflected(a + j * m, v, tau[k], k, m);
        for (int64_t i = k + 1; i < m; i++)
            v[i] *= -tau[k];
        v[k] = 1 - tau[k];
        for (int64_t i = 0; i < k; i++)
            v[i] = 0;
    }
    stored(kind, a, m, n, matrix, lda);
    free(a);
    free(tau);
    return 0;
}

/* --- Jacobi's rotations ---------------------------------------------------------------------------------------------- */

int32_t numba_ez_xxxevd(int8_t kind, int8_t job, int8_t triangle, int64_t n, void *matrix, int64_t lda, void *values)
{
    if (!real(kind))
        return -1;
    double *a = copied(kind, matrix, n, n, lda), *v = identity(n), *w = malloc((n > 0 ? n : 1) * sizeof *w);
    int lower = triangle == 'L' || triangle == 'l';
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j + 1; i < n; i++)
            if (lower)
                a[j + i * n] = a[i + j * n];
            else
                a[i + j * n] = a[j + i * n];
    int good = diagonalised(a, v, n);
    for (int64_t i = 0; i < n; i++)
        w[i] = a[i + i * n];
    int64_t *order = ordered(w, n);
    for (int64_t j = 0; j < n; j++) {
        stored(kind, w + order[j], 1, 1, (char *)values + j * (kind == 'd' ? 8 : 4), 1);
        if (job == 'V' || job == 'v')
            stored(kind, v + order[j] * n, n, 1, (char *)matrix + j * lda * (kind == 'd' ? 8 : 4), n);
    }
    free(order);
    free(w);
    free(v);
    free(a);
    return good ? 0 : 1;
}

/* A = U S V'; vectors of singular values that are zero are asked for in vain, and so are more than there are values. */
int32_t numba_ez_gesdd(int8_t kind, int8_t job, int64_t m, int64_t n, void *matrix, int64_t lda, void *values, void *left,
                       int64_t ldu, void *right, int64_t ldvt)
{
    if (!real(kind))
        return -1;
    int wide = m < n, vectors = job != 'N' && job != 'n';
    int64_t rows = wide ? n : m, few = wide ? m : n, bytes = kind == 'd' ? 8 : 4;
    if ((job == 'A' || job == 'a') && m != n)
        return 1;
    double *a = copied(kind, matrix, m, n, lda), *g = malloc((m * n > 0 ? m * n : 1) * sizeof *g), *v = identity(few);
    double *s = malloc((few > 0 ? few : 1) * sizeof *s), *u = malloc((n > m ? n : m) * sizeof *u);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            g[wide ? j + i * n : i + j * m] = a[i + j * m];
    int good = orthogonalised(g, v, rows, few);
    for (int64_t j = 0; j < few; j++) {
        double sum = 0;
        for (int64_t i = 0; i < rows; i++)
            sum += g[i + j * rows] * g[i + j * rows];
        s[j] = __builtin_sqrt(sum);
    }
    int64_t *order = ordered(s, few);
    for (int64_t j = 0; j < few; j++) {
        int64_t k = order[few - 1 - j];
        stored(kind, s + k, 1, 1, (char *)values + j * bytes, 1);
        if (!vectors)
            continue;
        good &= s[k] != 0;
        for (int64_t i = 0; i < rows; i++)
            u[i] = g[i + k * rows] / s[k];
        for (int64_t i = 0; i < m; i++)
            stored(kind, wide ? v + i + k * few : u + i, 1, 1, (char *)left + (i + j * ldu) * bytes, 1);
        for (int64_t i = 0; i < n; i++)
            stored(kind, wide ? u + i : v + i + k * few, 1, 1, (char *)right + (j + i * ldvt) * bytes, 1);
    }
    free(order);
    free(u);
    free(s);
    free(v);
    free(g);
    free(a);
    return good ? 0 : 1;
}

/* Least squares of full rank with no fewer rows than columns. */
int32_t numba_ez_gelsd(int8_t kind, int64_t m, int64_t n, int64_t count, void *matrix, int64_t lda, void *rights,
                       int64_t ldb, void *values, double least, int32_t *rank)
{
    if (!real(kind))
        return -1;
    if (m < n)
        return 1;
    int32_t info = numba_ez_gesdd(kind, 'N', m, n, matrix, lda, values, 0, m, 0, n);
    double *a = copied(kind, matrix, m, n, lda), *b = copied(kind, rights, m, count, ldb);
    double *s = copied(kind, values, n, 1, n), *tau = malloc((n > 0 ? n : 1) * sizeof *tau);
    double limit = (least < 0 ? 2.3e-16 : least) * s[0];
    factored(a, tau, m, n);
    *rank = n;
    for (int64_t k = 0; k < n; k++)
        if (s[k] <= limit)
            info = 1;
    for (int64_t j = 0; j < count && info == 0; j++) {
        double *c = b + j * m;
        for (int64_t k = 0; k < n; k++) {
            double *v = a + k * m, w = c[k];
            for (int64_t i = k + 1; i < m; i++)
                w += v[i] * c[i];
            w *= tau[k];
            c[k] -= w;
            for (int64_t i = k + 1; i < m; i++)
                c[i] -= w * v[i];
        }
        for (int64_t i = n - 1; i >= 0; i--) {
            for (int64_t k = i + 1; k < n; k++)
                c[i] -= a[i + k * m] * c[k];
            c[i] /= a[i + i * m];
        }
    }
    stored(kind, b, m, count, rights, ldb);
    free(tau);
    free(s);
    free(b);
    free(a);
    return info;
}

/* --- eigenvalues of any matrix ---------------------------------------------------------------------------------------- */

extern int32_t llgrad_numba_rgeev(int8_t kind, int8_t left, int8_t right, int64_t n, void *matrix, int64_t lda, void *real,
                                  void *imaginary, void *lefts, int64_t ldvl, void *rights, int64_t ldvr);

/* A complex matrix, its real and its imaginary part. */
typedef struct {
    double *re, *im;
} Matrix;

static Matrix zeros(int64_t n)
{
    return (Matrix){calloc(n * n, sizeof(double)), calloc(n * n, sizeof(double))};
}

static void dropped(Matrix m)
{
    free(m.re);
    free(m.im);
}

/* What stands at `to` less the product of what stands at `x` and `y`. */
static void subtracted(Matrix to, int64_t at, Matrix of, int64_t x, Matrix by, int64_t y)
{
    double re = of.re[x] * by.re[y] - of.im[x] * by.im[y], im = of.re[x] * by.im[y] + of.im[x] * by.re[y];
    to.re[at] -= re;
    to.im[at] -= im;
}

static void divided(Matrix m, int64_t at, double re, double im)
{
    double size = re * re + im * im, x = m.re[at], y = m.im[at];
    m.re[at] = (x * re + y * im) / size;
    m.im[at] = (y * re - x * im) / size;
}

static void swapped(double *a, int64_t i, int64_t k, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        double x = a[i + j * n];
        a[i + j * n] = a[k + j * n];
        a[k + j * n] = x;
    }
}

/* B = V^-1 A V by elimination. Can it be done? */
static int similar(const double *a, Matrix v, Matrix b, int64_t n)
{
    Matrix l = zeros(n);
    int good = 1;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            double re = 0, im = 0;
            for (int64_t k = 0; k < n; k++) {
                re += a[i + k * n] * v.re[k + j * n];
                im += a[i + k * n] * v.im[k + j * n];
            }
            b.re[i + j * n] = re;
            b.im[i + j * n] = im;
            l.re[i + j * n] = v.re[i + j * n];
            l.im[i + j * n] = v.im[i + j * n];
        }
    for (int64_t k = 0; k < n && good; k++) {
        int64_t p = k, d = k + k * n;
        double most = -1;
        for (int64_t i = k; i < n; i++) {
            double size = l.re[i + k * n] * l.re[i + k * n] + l.im[i + k * n] * l.im[i + k * n];
            if (size > most)
                most = size, p = i;
        }
        good = most > 0;
        if (!good)
            break;
        if (p != k) {
            swapped(l.re, p, k, n);
            swapped(l.im, p, k, n);
            swapped(b.re, p, k, n);
            swapped(b.im, p, k, n);
        }
        for (int64_t i = k + 1; i < n; i++) {
            divided(l, i + k * n, l.re[d], l.im[d]);
            for (int64_t j = k + 1; j < n; j++)
                subtracted(l, i + j * n, l, i + k * n, l, k + j * n);
            for (int64_t j = 0; j < n; j++)
                subtracted(b, i + j * n, l, i + k * n, b, k + j * n);
        }
    }
    for (int64_t j = 0; j < n && good; j++)
        for (int64_t i = n - 1; i >= 0; i--) {
            for (int64_t k = i + 1; k < n; k++)
                subtracted(b, i + j * n, l, i + k * n, b, k + j * n);
            divided(b, i + j * n, l.re[i + i * n], l.im[i + i * n]);
        }
    dropped(l);
    return good;
}

/* V (I + X), where X makes V^-1 A V = B diagonal to the first order; of equal eigenvalues it mixes nothing. */
static void bettered(Matrix v, Matrix b, double least, int64_t n)
{
    Matrix made = zeros(n);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            double re = b.re[i + i * n] - b.re[j + j * n], im = b.im[i + i * n] - b.im[j + j * n];
            if (i != j && re * re + im * im > least) {
                divided(b, i + j * n, re, im);
                for (int64_t k = 0; k < n; k++)
                    subtracted(made, k + j * n, v, k + i * n, b, i + j * n);
            }
        }
    for (int64_t i = 0; i < n * n; i++) {
        v.re[i] += made.re[i];
        v.im[i] += made.im[i];
    }
    dropped(made);
}

/* Columns of length one, whose largest element is real if they are complex, and keeps the sign of `first`. */
static void normed(Matrix v, const double *first, int complex, int64_t j, int64_t n)
{
    double sum = 0, most = -1, re = 1, im = 0;
    int64_t p = j * n;
    for (int64_t i = j * n; i < (j + 1) * n; i++) {
        double size = v.re[i] * v.re[i] + v.im[i] * v.im[i];
        sum += size;
        if (complex && size > most)
            most = size, p = i;
    }
    sum = __builtin_sqrt(sum);
    if (complex) {
        double size = __builtin_sqrt(v.re[p] * v.re[p] + v.im[p] * v.im[p]) * (first[p] < 0 ? -1 : 1);
        re = v.re[p] / size;
        im = v.im[p] / size;
    }
    for (int64_t i = j * n; i < (j + 1) * n; i++) {
        double x = v.re[i], y = v.im[i];
        v.re[i] = (x * re + y * im) / sum;
        v.im[i] = (y * re - x * im) / sum;
    }
}

/* LAPACK's own values and vectors count as constant: two steps of Newton's method lead from them to the same again, with
 * their first and second derivatives. Of a complex pair the vectors are a column each for the real and imaginary part. */
int32_t numba_ez_rgeev(int8_t kind, int8_t left, int8_t right, int64_t n, void *matrix, int64_t lda, void *real_parts,
                       void *imaginary_parts, void *lefts, int64_t ldvl, void *rights, int64_t ldvr)
{
    if (!real(kind) || left == 'V' || left == 'v')
        return -1;
    int64_t bytes = kind == 'd' ? 8 : 4;
    double *a = copied(kind, matrix, n, n, lda), *taken = copied(kind, matrix, n, n, lda), none;
    double *wr = calloc(n, sizeof *wr), *wi = calloc(n, sizeof *wi), *first = calloc(n * n, sizeof *first), largest = 0;
    int32_t info = llgrad_numba_rgeev('d', 'N', 'V', n, taken, n, wr, wi, &none, 1, first, n);
    Matrix v = zeros(n), b = zeros(n);
    for (int64_t j = 0; j < n && info == 0; j++) {
        double size = wr[j] * wr[j] + wi[j] * wi[j];
        largest = size > largest ? size : largest;
        for (int64_t i = 0; i < n; i++) {
            v.re[i + j * n] = first[i + (wi[j] < 0 ? j - 1 : j) * n];
            v.im[i + j * n] = wi[j] == 0 ? 0 : wi[j] > 0 ? first[i + (j + 1) * n] : -first[i + j * n];
        }
    }
    if (info == 0 && !similar(a, v, b, n))
        info = 1;
    if (info == 0) {
        bettered(v, b, 1e-24 * largest, n);
        if (!similar(a, v, b, n))
            info = 1;
    }
    for (int64_t j = 0; j < n && info == 0; j++) {
        stored(kind, b.re + j + j * n, 1, 1, (char *)real_parts + j * bytes, 1);
        double zero = 0, *im = wi[j] == 0 ? &zero : b.im + j + j * n;
        stored(kind, im, 1, 1, (char *)imaginary_parts + j * bytes, 1);
    }
    if (info == 0 && (right == 'V' || right == 'v')) {
        bettered(v, b, 1e-24 * largest, n);
        for (int64_t j = 0; j < n; j++) {
            if (wi[j] < 0)
                continue;
            normed(v, first, wi[j] > 0, j, n);
            stored(kind, v.re + j * n, n, 1, (char *)rights + j * ldvr * bytes, n);
            if (wi[j] > 0)
                stored(kind, v.im + j * n, n, 1, (char *)rights + (j + 1) * ldvr * bytes, n);
        }
    }
    dropped(b);
    dropped(v);
    free(first);
    free(wi);
    free(wr);
    free(taken);
    free(a);
    return info;
}
