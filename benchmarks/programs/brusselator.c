/* Reaction and diffusion of two species on a periodic square, by explicit steps. Size: points on a side. */
#include "program.h"

enum { STEPS = 10 };

static void step(int n, const double *restrict p, const double *restrict u, const double *restrict v, double *restrict nu,
                 double *restrict nv)
{
    const double h = 1e-3, scale = p[2] * (n - 1) * (n - 1) * 1e-2;
    for (int i = 0; i < n; i++) {
        int up = i ? i - 1 : n - 1, down = i + 1 < n ? i + 1 : 0;
        for (int j = 0; j < n; j++) {
            int left = j ? j - 1 : n - 1, right = j + 1 < n ? j + 1 : 0;
            double a = u[i * n + j], b = v[i * n + j];
            double lu = u[up * n + j] + u[down * n + j] + u[i * n + left] + u[i * n + right] - 4 * a;
            double lv = v[up * n + j] + v[down * n + j] + v[i * n + left] + v[i * n + right] - 4 * b;
            nu[i * n + j] = a + h * (p[1] + a * a * b - (p[0] + 1) * a + scale * lu);
            nv[i * n + j] = b + h * (p[0] * a - a * a * b + scale * lv);
        }
    }
}

OBJECTIVE void objective(int n, const double *restrict p, const double *restrict start, double *restrict work,
                         double *restrict out)
{
    int m = n * n;
    memcpy(work, start, 2 * m * sizeof *work);
    for (int t = 0; t < STEPS; t += 2) {
        step(n, p, work, work + m, work + 2 * m, work + 3 * m);
        step(n, p, work + 2 * m, work + 3 * m, work, work + m);
    }
    double sum = 0;
    for (int i = 0; i < m; i++) sum += work[i] * work[i] + work[i + m];
    *out = sum / m;
}

static double *p, *start, *work, *d_p, *d_start, *d_work;
static int n;

void setup(int size)
{
    n = size;
    int m = n * n;
    p = realloc(p, (3 + 2 * m) * sizeof *p), start = p + 3;
    d_p = fresh(d_p, (3 + 2 * m) * sizeof *p), d_start = d_p + 3;
    work = realloc(work, 4 * m * sizeof *p), d_work = fresh(d_work, 4 * m * sizeof *p);
    p[0] = 3.4, p[1] = 1, p[2] = 2;
    for (int i = 0; i < 2 * m; i++) start[i] = 1 + noise(i);
}

double primal(void)
{
    double out;
    objective(n, p, start, work, &out);
    return out;
}

void gradient(void)
{
    double out, seed = 1;
    memset(d_p, 0, (3 + 2 * n * n) * sizeof *d_p);
    memset(d_work, 0, 4 * n * n * sizeof *d_work);
    __enzyme_autodiff((void *)objective, enzyme_const, n, enzyme_dup, p, d_p, enzyme_dup, start, d_start,
                      enzyme_dup, work, d_work, enzyme_dup, &out, &seed);
}

double *derivative(int *count) { return *count = 3 + 2 * n * n, d_p; }
