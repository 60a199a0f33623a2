/* The Lorenz system by the classical Runge-Kutta method. Size: steps. */
#include "program.h"

static inline void rate(const double *restrict p, const double *restrict y, double *restrict f)
{
    f[0] = p[0] * (y[1] - y[0]);
    f[1] = y[0] * (p[1] - y[2]) - y[1];
    f[2] = y[0] * y[1] - p[2] * y[2];
}

OBJECTIVE void objective(int steps, const double *restrict p, const double *restrict start, double *restrict out)
{
    double y[3] = {start[0], start[1], start[2]}, h = 1e-4, sum = 0;
    for (int i = 0; i < steps; i++) {
        double k1[3], k2[3], k3[3], k4[3], t[3];
        rate(p, y, k1);
        for (int j = 0; j < 3; j++) t[j] = y[j] + 0.5 * h * k1[j];
        rate(p, t, k2);
        for (int j = 0; j < 3; j++) t[j] = y[j] + 0.5 * h * k2[j];
        rate(p, t, k3);
        for (int j = 0; j < 3; j++) t[j] = y[j] + h * k3[j];
        rate(p, t, k4);
        for (int j = 0; j < 3; j++) y[j] += h / 6 * (k1[j] + 2 * k2[j] + 2 * k3[j] + k4[j]);
        sum += h * (y[0] * y[0] + y[1] * y[1]);
    }
    *out = sum + y[2];
}

static double *p, *d_p;
static int steps;

void setup(int size)
{
    static const double values[6] = {10, 28, 8.0 / 3, 1, 1.5, 20};
    steps = size;
    p = realloc(p, sizeof values), d_p = fresh(d_p, sizeof values);
    memcpy(p, values, sizeof values);
}

double primal(void)
{
    double out;
    objective(steps, p, p + 3, &out);
    return out;
}

void gradient(void)
{
    double out, seed = 1;
    memset(d_p, 0, 6 * sizeof *p);
    __enzyme_autodiff((void *)objective, enzyme_const, steps, enzyme_dup, p, d_p, enzyme_dup, p + 3, d_p + 3,
                      enzyme_dup, &out, &seed);
}

double *derivative(int *count) { return *count = 6, d_p; }
