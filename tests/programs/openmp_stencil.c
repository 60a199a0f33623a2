/* What scientific programs do: stencils with two buffers, forces in arrays of each thread, conjugate gradients, nested
 * regions, routines for a whole team. */
#include "selfcheck.h"
#include <omp.h>

static double heat(const double *x, int n)
{
    double *u = (double *)malloc((size_t)n * sizeof *u), *v = (double *)malloc((size_t)n * sizeof *v), change = 1, e = 0;
    memcpy(u, x, (size_t)n * sizeof *u);
    for (int step = 0; step < 20 && change > 1e-3; step++) {
        change = 0;
#pragma omp parallel for schedule(static) reduction(max : change)
        for (int i = 0; i < n; i++) {
            v[i] = u[i] + 0.1 * u[i] * (u[(i + 1) % n] - 2 * u[i] + u[(i + n - 1) % n]);
            change = fmax(change, fabs(v[i] - u[i]));
        }
        double *swap = u;
        u = v;
        v = swap;
    }
#pragma omp parallel for reduction(+ : e)
    for (int i = 0; i < n; i++)
        e += u[i] * u[i] * (i + 1);
    free(u);
    free(v);
    return e;
}

static double bodies(const double *x, int n)
{
    int threads = omp_get_max_threads();
    double *f = (double *)calloc((size_t)(threads * n), sizeof *f), e = 0;
#pragma omp parallel
    {
        double *own = f + omp_get_thread_num() * n;
#pragma omp for schedule(dynamic) nowait
        for (int i = 0; i < n; i++)
            for (int j = i + 1; j < n; j++) {
                double d = x[i] - x[j], w = d / (0.1 + d * d);
                own[i] += w;
                own[j] -= w;
            }
#pragma omp barrier
#pragma omp for
        for (int i = 0; i < n; i++)
            for (int t = 1; t < omp_get_num_threads(); t++)
                f[i] += f[t * n + i];
    }
    for (int i = 0; i < n; i++)
        e += f[i] * f[i];
    free(f);
    return e;
}

/* For all threads of a team. */
static double dot(const double *a, const double *b, int n, double *sum)
{
#pragma omp barrier
#pragma omp single
    *sum = 0;
    double own = 0;
#pragma omp for nowait
    for (int i = 0; i < n; i++)
        own += a[i] * b[i];
#pragma omp atomic
    *sum += own;
#pragma omp barrier
    return *sum;
}

static void apply(const double *k, const double *p, double *q, int n)
{
#pragma omp for
    for (int i = 0; i < n; i++)
        q[i] = (2 + k[i]) * p[i] - (i ? 0.5 * p[i - 1] : 0) - (i + 1 < n ? 0.5 * p[i + 1] : 0);
}

static double conjugate_gradients(const double *x, int n)
{
    double u[8] = {0}, r[8], p[8], q[8], sum = 0, result = 0;
    for (int i = 0; i < n; i++)
        r[i] = p[i] = 1 + 0.1 * i;
#pragma omp parallel
    {
        double rr = dot(r, r, n, &sum);
        for (int k = 0; k < 4; k++) {
            apply(x, p, q, n);
            double a = rr / dot(p, q, n, &sum);
#pragma omp for
            for (int i = 0; i < n; i++) {
                u[i] += a * p[i];
                r[i] -= a * q[i];
            }
            double next = dot(r, r, n, &sum), b = next / rr;
            rr = next;
#pragma omp for
            for (int i = 0; i < n; i++)
                p[i] = r[i] + b * p[i];
        }
#pragma omp for reduction(+ : result)
        for (int i = 0; i < n; i++)
            result += u[i] * x[i];
    }
    return result;
}

static double inner(const double *x, int n, double by)
{
    double s = 0;
#pragma omp parallel for reduction(+ : s)
    for (int i = 0; i < n; i++)
        s += x[i] * by;
    return s;
}

static double nested(const double *x, int n)
{
    double s = 0;
#pragma omp parallel for reduction(+ : s) num_threads(2)
    for (int i = 0; i < n; i++)
        s += inner(x, i + 1, x[i] * x[i]);
    return s;
}

static double sparse(const double *x, int n)
{
    int rows[] = {0, 2, 3, 5, 6, 8}, columns[] = {0, 3, 1, 2, 4, 0, 1, 4};
    double y[5] = {0}, s = 0;
#pragma omp parallel for schedule(guided)
    for (int r = 0; r < 5; r++)
        for (int k = rows[r]; k < rows[r + 1]; k++) {
            double v = x[k] * x[columns[k]];
#pragma omp atomic
            y[columns[k]] += v * v;
        }
    for (int r = 0; r < 5; r++)
        s += y[r] * y[r] * x[n - 1];
    return s;
}

int main(void)
{
    CHECK_GRADIENT(heat, 8);
    CHECK_GRADIENT(bodies, 6);
    CHECK_GRADIENT(conjugate_gradients, 6);
    CHECK_GRADIENT(nested, 5);
    CHECK_GRADIENT(sparse, 8);
    return failures();
}
