/* Decompositions of complex matrices, as np.linalg asks LAPACK for them: what `numba_lapack.c` has for real ones, by the
 * same methods. The phases of vectors, like signs there, are what comes of it. */
#include "numba_complex.h"

#define SWEEPS 60

extern void llgrad_fail(int32_t code, const void *detail) __attribute__((noreturn));

/* --- QR ------------------------------------------------------------------------------------------------------------ */

/* A column without `scale` of what lies along the reflection v, whose first element, at k, is one. */
static void reflected(Z *c, const Z *v, Z scale, int64_t k, int64_t m)
{
    Z w = c[k];
    for (int64_t i = k + 1; i < m; i++)
        w += CONJ(v[i]) * c[i];
    w *= scale;
    c[k] -= w;
    for (int64_t i = k + 1; i < m; i++)
        c[i] -= w * v[i];
}

/* Below the diagonal the reflections, on and above it R, whose diagonal is real. A column that is so before, where signs
 * jump, is refused. */
static void factored(Z *a, Z *tau, int64_t m, int64_t n)
{
    for (int64_t k = 0; k < m && k < n; k++) {
        Z *v = a + k * m, alpha = v[k];
        double sum = IM(alpha) * IM(alpha);
        for (int64_t i = k + 1; i < m; i++)
            sum += square(v[i]);
        if (sum == 0)
            llgrad_fail(4, 0);
        double norm = __builtin_sqrt(RE(alpha) * RE(alpha) + sum), beta = RE(alpha) >= 0 ? -norm : norm;
        tau[k] = (beta - alpha) / beta;
        v[k] = beta;
        for (int64_t i = k + 1; i < m; i++)
            v[i] /= alpha - beta;
        for (int64_t j = k + 1; j < n; j++)
            reflected(a + j * m, v, CONJ(tau[k]), k, m);
    }
}

int32_t llgrad_numba_complex_geqrf(int8_t kind, int64_t m, int64_t n, void *matrix, int64_t lda, void *scales)
{
    int64_t k = m < n ? m : n;
    Z *a = copied(kind, matrix, m, n, lda), *tau = room(k);
    factored(a, tau, m, n);
    stored(kind, a, m, n, matrix, lda);
    stored(kind, tau, k, 1, scales, k);
    free(a);
    free(tau);
    return 0;
}

/* The first n columns of Q, of n reflections. */
int32_t llgrad_numba_complex_xxgqr(int8_t kind, int64_t m, int64_t n, int64_t count, void *matrix, int64_t lda,
                                   const void *scales)
{
    if (n != count)
        return -1;
    Z *a = copied(kind, matrix, m, n, lda), *tau = copied(kind, scales, n, 1, n);
    for (int64_t k = n - 1; k >= 0; k--) {
        Z *v = a + k * m;
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

/* The tangent, with b's phase, that makes b zero; d is the difference of what stands on the diagonal. */
static Z tangent(Z b, double d)
{
    double root = __builtin_sqrt(d * d + 4 * square(b));
    return 2 * b / (d + (d < 0 ? -root : root));
}

static void rotated(Z *x, Z *y, int64_t n, int64_t step, double c, Z s)
{
    for (int64_t i = 0; i < n; i++) {
        Z u = x[i * step], v = y[i * step];
        x[i * step] = c * u - CONJ(s) * v;
        y[i * step] = s * u + c * v;
    }
}

static Z *identity(int64_t n)
{
    Z *v = room(n * n);
    for (int64_t i = 0; i < n * n; i++)
        v[i] = i % (n + 1) == 0;
    return v;
}

/* Places in ascending order of `of`. */
static int64_t *ordered(const double *of, int64_t n)
{
    int64_t *order = malloc((n > 0 ? n : 1) * sizeof *order);
    for (int64_t i = 0; i < n; i++) {
        int64_t k = i;
        for (; k > 0 && of[order[k - 1]] > of[i]; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    return order;
}

/* The Hermitian matrix becomes diagonal, `v` its eigenvectors; is there convergence? */
static int diagonalised(Z *a, Z *v, int64_t n)
{
    int more = 2;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double off = 0, all = 0;
        for (int64_t i = 0; i < n * n; i++) {
            all += square(a[i]);
            off += i % (n + 1) == 0 ? 0 : square(a[i]);
        }
        if (off <= 1e-30 * all && more-- == 0)
            return 1;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++) {
                Z b = a[p + q * n];
                double d = RE(a[q + q * n]) - RE(a[p + p * n]);
                if (square(b) == 0 && d == 0)
                    continue;
                Z t = tangent(b, d);
                double c = 1 / __builtin_sqrt(1 + square(t));
                rotated(a + p * n, a + q * n, n, 1, c, c * t);
                rotated(a + p, a + q, n, n, c, c * CONJ(t));
                rotated(v + p * n, v + q * n, n, 1, c, c * t);
                a[p + q * n] = a[q + p * n] = 0;
            }
    }
    return 0;
}

/* The columns of g (m by n, m at least n) become orthogonal, `v` the product of the rotations. */
static int orthogonalised(Z *g, Z *v, int64_t m, int64_t n)
{
    int more = 2;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double off = 0, all = 0;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p; q < n; q++) {
                double a = 0, c = 0;
                Z b = 0;
                for (int64_t i = 0; i < m; i++) {
                    a += square(g[i + p * m]);
                    b += CONJ(g[i + p * m]) * g[i + q * m];
                    c += square(g[i + q * m]);
                }
                all += square(b);
                if (p == q || (square(b) == 0 && a == c))
                    continue;
                off += square(b);
                Z t = tangent(b, c - a);
                double u = 1 / __builtin_sqrt(1 + square(t));
                rotated(g + p * m, g + q * m, m, 1, u, u * t);
                rotated(v + p * n, v + q * n, n, 1, u, u * t);
            }
        if (off <= 1e-29 * all && more-- == 0)
            return 1;
    }
    return 0;
}

int32_t llgrad_numba_complex_xxxevd(int8_t kind, int8_t job, int8_t triangle, int64_t n, void *matrix, int64_t lda,
                                    void *values)
{
    Z *a = copied(kind, matrix, n, n, lda), *v = identity(n), *u = room(n * n);
    double *w = malloc((n > 0 ? n : 1) * sizeof *w), *ascending = malloc((n > 0 ? n : 1) * sizeof *w);
    int lower = triangle == 'L' || triangle == 'l';
    for (int64_t j = 0; j < n; j++) {
        a[j + j * n] = RE(a[j + j * n]);
        for (int64_t i = j + 1; i < n; i++)
            if (lower)
                a[j + i * n] = CONJ(a[i + j * n]);
            else
                a[i + j * n] = CONJ(a[j + i * n]);
    }
    int good = diagonalised(a, v, n);
    for (int64_t i = 0; i < n; i++)
        w[i] = RE(a[i + i * n]);
    int64_t *order = ordered(w, n);
    for (int64_t j = 0; j < n; j++) {
        ascending[j] = w[order[j]];
        for (int64_t i = 0; i < n; i++)
            u[i + j * n] = v[i + order[j] * n];
    }
    stored_reals(kind, ascending, n, values);
    if (job == 'V' || job == 'v')
        stored(kind, u, n, n, matrix, lda);
    free(order);
    free(ascending);
    free(w);
    free(u);
    free(v);
    free(a);
    return good ? 0 : 1;
}

/* A = U S V'; vectors of singular values that are zero are asked for in vain, and so are more than there are values. */
int32_t llgrad_numba_complex_gesdd(int8_t kind, int8_t job, int64_t m, int64_t n, void *matrix, int64_t lda, void *values,
                                   void *left, int64_t ldu, void *right, int64_t ldvt)
{
    int wide = m < n, vectors = job != 'N' && job != 'n';
    int64_t rows = wide ? n : m, few = wide ? m : n;
    if ((job == 'A' || job == 'a') && m != n)
        return 1;
    Z *a = copied(kind, matrix, m, n, lda), *g = room(m * n), *v = identity(few);
    Z *u = room(m * few), *vt = room(few * n);
    double *s = malloc((few > 0 ? few : 1) * sizeof *s), *descending = malloc((few > 0 ? few : 1) * sizeof *s);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            g[wide ? j + i * n : i + j * m] = wide ? CONJ(a[i + j * m]) : a[i + j * m];
    int good = orthogonalised(g, v, rows, few);
    for (int64_t j = 0; j < few; j++) {
        double sum = 0;
        for (int64_t i = 0; i < rows; i++)
            sum += square(g[i + j * rows]);
        s[j] = __builtin_sqrt(sum);
    }
    int64_t *order = ordered(s, few);
    for (int64_t j = 0; j < few; j++) {
        int64_t k = order[few - 1 - j];
        descending[j] = s[k];
        if (!vectors)
            continue;
        good &= s[k] != 0;
        for (int64_t i = 0; i < m; i++)
            u[i + j * m] = wide ? v[i + k * few] : g[i + k * rows] / s[k];
        for (int64_t i = 0; i < n; i++)
            vt[j + i * few] = CONJ(wide ? g[i + k * rows] / s[k] : v[i + k * few]);
    }
    stored_reals(kind, descending, few, values);
    if (vectors) {
        stored(kind, u, m, few, left, ldu);
        stored(kind, vt, few, n, right, ldvt);
    }
    free(order);
    free(descending);
    free(s);
    free(vt);
    free(u);
    free(v);
    free(g);
    free(a);
    return good ? 0 : 1;
}

/* Least squares of full rank with no fewer rows than columns. */
int32_t llgrad_numba_complex_gelsd(int8_t kind, int64_t m, int64_t n, int64_t count, void *matrix, int64_t lda,
                                   void *rights, int64_t ldb, void *values, double least, int32_t *rank)
{
    if (m < n)
        return 1;
    int32_t info = llgrad_numba_complex_gesdd(kind, 'N', m, n, matrix, lda, values, 0, m, 0, n);
    Z *a = copied(kind, matrix, m, n, lda), *b = copied(kind, rights, m, count, ldb), *tau = room(n);
    double limit = least < 0 ? 2.3e-16 : least;
    *rank = n;
    for (int64_t k = 0; k < n; k++)
        if (kind == 'z' ? ((double *)values)[k] <= limit * *(double *)values : ((float *)values)[k] <= limit * *(float *)values)
            info = 1;
    factored(a, tau, m, n);
    for (int64_t j = 0; j < count && info == 0; j++) {
        Z *c = b + j * m;
        for (int64_t k = 0; k < n; k++)
            reflected(c, a + k * m, CONJ(tau[k]), k, m);
        for (int64_t i = n - 1; i >= 0; i--) {
            for (int64_t k = i + 1; k < n; k++)
                c[i] -= a[i + k * m] * c[k];
            c[i] /= a[i + i * m];
        }
    }
    stored(kind, b, m, count, rights, ldb);
    free(tau);
    free(b);
    free(a);
    return info;
}
