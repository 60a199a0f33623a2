/* Decompositions, as np.linalg asks LAPACK for them: matrices column by column, what is returned is LAPACK's `info`.
 *
 * They are computed on copies in double precision, by methods whose steps all have derivatives: QR by Householder
 * reflections (signs as LAPACK's), eigenvalues and singular values by Jacobi's rotations. Signs of eigenvectors and
 * singular vectors (phases of complex ones) are what comes of it. Where several eigenvalues are equal, their vectors are
 * any, and so are their derivatives. Whoever includes this says how each is called: NAME(lapack's). */
#include "jacobi.h"

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
 * jump, is refused; but a real one of one element is left alone. */
static void factored(Z *a, Z *tau, int64_t m, int64_t n)
{
    for (int64_t k = 0; k < m && k < n; k++) {
        Z *v = a + k * m, alpha = v[k];
        double sum = IM(alpha) * IM(alpha);
        tau[k] = 0;
        if (sizeof alpha == sizeof sum && k + 1 == m)
            continue;
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

int32_t NAME(geqrf)(int8_t kind, int64_t m, int64_t n, void *matrix, int64_t lda, void *scales)
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
int32_t NAME(xxgqr)(int8_t kind, int64_t m, int64_t n, int64_t count, void *matrix, int64_t lda,
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

int32_t NAME(xxxevd)(int8_t kind, int8_t job, int8_t triangle, int64_t n, void *matrix, int64_t lda,
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
int32_t NAME(gesdd)(int8_t kind, int8_t job, int64_t m, int64_t n, void *matrix, int64_t lda, void *values,
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
int32_t NAME(gelsd)(int8_t kind, int64_t m, int64_t n, int64_t count, void *matrix, int64_t lda,
                                   void *rights, int64_t ldb, void *values, double least, int32_t *rank)
{
    if (m < n)
        return 1;
    int32_t info = NAME(gesdd)(kind, 'N', m, n, matrix, lda, values, 0, m, 0, n);
    Z *a = copied(kind, matrix, m, n, lda), *b = copied(kind, rights, m, count, ldb), *tau = room(n);
    double limit = least < 0 ? 2.3e-16 : least;
    *rank = n;
    for (int64_t k = 0; k < n; k++)
        if (is_wide(kind) ? ((double *)values)[k] <= limit * *(double *)values : ((float *)values)[k] <= limit * *(float *)values)
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
