/* Eigenvalues and singular values by Jacobi's rotations, whose steps all have derivatives. These go on for two sweeps after
 * they have converged, so that first and second derivatives have, too, and no rotation is left out for being by a zero angle. */
#include <stdint.h>
#include <stdlib.h>

#define SWEEPS 60

/* The tangent of the angle that makes b zero, where d is the difference of what stands on the diagonal. */
static double tangent(double b, double d)
{
    double root = __builtin_sqrt(d * d + 4 * b * b);
    return 2 * b / (d + (d < 0 ? -root : root));
}

static void rotated(double *x, double *y, int64_t n, int64_t step, double c, double s)
{
    for (int64_t i = 0; i < n; i++) {
        double u = x[i * step], v = y[i * step];
        x[i * step] = c * u - s * v;
        y[i * step] = s * u + c * v;
    }
}

static double *identity(int64_t n)
{
    double *v = malloc((n > 0 ? n * n : 1) * sizeof *v);
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

/* The symmetric matrix becomes diagonal, `v` its eigenvectors; is there convergence? */
static int diagonalised(double *a, double *v, int64_t n)
{
    int more = 2;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double off = 0, all = 0;
        for (int64_t i = 0; i < n * n; i++) {
            all += a[i] * a[i];
            off += i % (n + 1) == 0 ? 0 : a[i] * a[i];
        }
        if (off <= 1e-30 * all && more-- == 0)
            return 1;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++) {
                double b = a[p + q * n], d = a[q + q * n] - a[p + p * n];
                if (b == 0 && d == 0)
                    continue;
                double t = tangent(b, d), c = 1 / __builtin_sqrt(1 + t * t), s = t * c;
                rotated(a + p * n, a + q * n, n, 1, c, s);
                rotated(a + p, a + q, n, n, c, s);
                rotated(v + p * n, v + q * n, n, 1, c, s);
                a[p + q * n] = a[q + p * n] = 0;
            }
    }
    return 0;
}

/* The columns of g (m by n, m at least n) become orthogonal, `v` the product of the rotations. */
static int orthogonalised(double *g, double *v, int64_t m, int64_t n)
{
    int more = 2;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double off = 0, all = 0;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p; q < n; q++) {
                double a = 0, b = 0, c = 0;
                for (int64_t i = 0; i < m; i++) {
                    a += g[i + p * m] * g[i + p * m];
                    b += g[i + p * m] * g[i + q * m];
                    c += g[i + q * m] * g[i + q * m];
                }
                all += b * b;
                if (p == q || (b == 0 && a == c))
                    continue;
                off += b * b;
                double t = tangent(b, c - a), u = 1 / __builtin_sqrt(1 + t * t), s = t * u;
                rotated(g + p * m, g + q * m, m, 1, u, s);
                rotated(v + p * n, v + q * n, n, 1, u, s);
            }
        if (off <= 1e-29 * all && more-- == 0)
            return 1;
    }
    return 0;
}
