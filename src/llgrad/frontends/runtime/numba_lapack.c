/* Decompositions, as np.linalg asks LAPACK for them: matrices column by column, what is returned is LAPACK's `info`.
 *
 * They are computed on copies in double precision (complex ones: `numba_complex.c`), by methods whose steps all have
 * derivatives: QR by Householder reflections (signs as LAPACK's), eigenvalues and singular values by Jacobi's rotations.
 * These go on for two sweeps after they have converged, so that first and second derivatives have, too, and no rotation
 * is left out for being by a zero angle. Signs of eigenvectors and singular vectors are what comes of it. Where several
 * eigenvalues are equal, their vectors are any, and so are their derivatives. */
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
