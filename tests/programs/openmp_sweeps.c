/* The two sweeps apart, several shadows at a time, and derivatives of derivatives, of functions with parallel regions. */
#include "selfcheck.h"
#include <omp.h>

typedef struct { double a, b; } two;
extern two __enzyme_fwddiff_two(void *, ...);
extern void *__enzyme_augmentfwd(void *, ...);
extern void __enzyme_reverse(void *, ...);

enum { N = 6 };

static void powers(const double *x, double *y, int n)
{
#pragma omp parallel
    {
        double scale = x[0];
#pragma omp for schedule(dynamic)
        for (int i = 0; i < n; i++) {
            y[i] = 0.3 * x[i] * x[i] * scale;
            for (int k = 0; k < i; k++)
                y[i] = 0.2 * y[i] * x[k] + 0.1;
        }
    }
}

static double energy(const double *x, int n)
{
    double s = 0, y[N];
    powers(x, y, n);
#pragma omp parallel for reduction(+ : s)
    for (int i = 0; i < n; i++) {
        double v = y[i];
#pragma omp atomic
        y[i] *= v;
        s += sin(y[i]) * x[n - 1 - i];
    }
    return s;
}

static void gradient(const double *x, double *g, int n)
{
    for (int i = 0; i < n; i++)
        g[i] = 0;
    __enzyme_autodiff_void((void *)energy, enzyme_dup, x, g, enzyme_const, n);
}

static double gradient_norm(const double *x, int n)
{
    double g[N], s = 0;
    gradient(x, g, n);
    for (int i = 0; i < n; i++)
        s += g[i] * g[i];
    return s;
}

static double state;
#pragma omp threadprivate(state)

static double through_state(const double *x, int n)
{
    double s = 0;
    state = x[0];
#pragma omp parallel copyin(state) reduction(+ : s)
    {
#pragma omp for
        for (int i = 0; i < n; i++)
            s += state * x[i];
    }
    return s;
}

int main(void)
{
    CHECK_GRADIENT(energy, N);
    CHECK_GRADIENT(gradient_norm, N);
    CHECK_GRADIENT(through_state, N);
    double x[N], y[N], dx[N] = {0}, dy[N], wanted[N];
    sample(x, N);
    for (int i = 0; i < N; i++)
        wanted[i] = slope_by(energy, N, i);
    double t[2][N] = {{0}};
    t[0][1] = t[1][4] = 1;
    two both = __enzyme_fwddiff_two((void *)energy, enzyme_width, 2, enzyme_dup, x, t[0], t[1], enzyme_const, N);
    expect("width", 0, both.a, wanted[1]);
    expect("width", 1, both.b, wanted[4]);
    double one[N] = {0};
    for (int i = 0; i < N; i++)
        dy[i] = one[i] = 1 + 0.1 * i;
    void *tape = __enzyme_augmentfwd((void *)powers, enzyme_dup, x, dx, enzyme_dup, y, dy, enzyme_const, N);
    for (int i = 0; i < N; i++)
        y[i] = 100;
    __enzyme_reverse((void *)powers, enzyme_dup, x, dx, enzyme_dup, y, dy, enzyme_const, N, tape);
    for (int i = 0; i < N; i++) {
        double v[4];
        for (int k = 0; k < 4; k++) {
            double z[N], w[N];
            sample(z, N);
            z[i] += stencil_steps[k] * 1e-3;
            powers(z, w, N);
            v[k] = 0;
            for (int j = 0; j < N; j++)
                v[k] += w[j] * one[j];
        }
        expect("apart", i, dx[i], stencil(v, 1e-3));
    }
    return failures();
}
