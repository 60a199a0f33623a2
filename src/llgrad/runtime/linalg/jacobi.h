/* Eigenvalues and singular values by Jacobi's rotations, whose steps all have derivatives. These go on for two sweeps after
 * they have converged, so that first and second derivatives have, too, and no rotation is left out for being by a zero angle. */
#include "elements.h"

#define SWEEPS 60

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
