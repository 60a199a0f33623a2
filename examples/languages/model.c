/* A network's loss, an integrator, and a Cholesky solve, as C has them: pointers, sizes, malloc. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* (w2 . tanh(W1 x + b1) - target)^2, W1 is m by n, row by row */
double network(int n, int m, const double *x, const double *w1, const double *b1, const double *w2, double target)
{
    double y = 0.0;
    for (int i = 0; i < m; i++) {
        double s = b1[i];
        for (int j = 0; j < n; j++)
            s += w1[i * n + j] * x[j];
        y += w2[i] * tanh(s);
    }
    return (y - target) * (y - target);
}

static void slope(int n, const double *y, double k, double *out)
{
    for (int i = 0; i < n; i++) {
        double left = y[(i + n - 1) % n], right = y[(i + 1) % n];
        out[i] = left - 2.0 * y[i] + right - k * y[i] * y[i] * y[i];
    }
}

/* The energy of a ring of n cells after `steps` steps of Heun's method */
double integrate(int n, const double *start, double k, double dt, int steps)
{
    double *y = malloc(4 * n * sizeof *y), *mid = y + n, *a = y + 2 * n, *b = y + 3 * n;
    memcpy(y, start, n * sizeof *y);
    for (int step = 0; step < steps; step++) {
        slope(n, y, k, a);
        for (int i = 0; i < n; i++)
            mid[i] = y[i] + dt * a[i];
        slope(n, mid, k, b);
        for (int i = 0; i < n; i++)
            y[i] += 0.5 * dt * (a[i] + b[i]);
    }
    double energy = 0.0;
    for (int i = 0; i < n; i++)
        energy += y[i] * y[i];
    free(y);
    return energy;
}

/* b . A^-1 b + log det A of a symmetric positive definite A, by its Cholesky factor */
double solve(int n, const double *a, const double *b)
{
    double *l = calloc((size_t)n * n, sizeof *l), *z = malloc(n * sizeof *z), logdet = 0.0, dot = 0.0;
    for (int j = 0; j < n; j++) {
        for (int i = j; i < n; i++) {
            double s = a[i * n + j];
            for (int k = 0; k < j; k++)
                s -= l[i * n + k] * l[j * n + k];
            l[i * n + j] = i == j ? sqrt(s) : s / l[j * n + j];
        }
        logdet += 2.0 * log(l[j * n + j]);
    }
    for (int i = 0; i < n; i++) {
        double s = b[i];
        for (int k = 0; k < i; k++)
            s -= l[i * n + k] * z[k];
        z[i] = s / l[i * n + i];
        dot += z[i] * z[i];
    }
    free(l);
    free(z);
    return dot + logdet;
}
