/* The Brusselator reaction by Dormand and Prince's method, the step chosen by the error; states are kept in a history that
   grows. Size: the tolerance is 1e-6 / size. */
#include "program.h"

enum { N = 2 };

static inline void rate(const double *p, const double *y, double *f)
{
    f[0] = p[0] + y[0] * y[0] * y[1] - (p[1] + 1) * y[0];
    f[1] = p[1] * y[0] - y[0] * y[0] * y[1];
}

OBJECTIVE void objective(double tolerance, const double *restrict p, double *restrict out)
{
    double y[N] = {p[2], p[3]}, t = 0, h = 1e-3, end = 20;
    int capacity = 16, count = 0;
    double *history = malloc(capacity * sizeof *history);
    while (t < end) {
        double k[7][N], z[N], error = 0;
        if (t + h > end) h = end - t;
        rate(p, y, k[0]);
        for (int i = 0; i < N; i++) z[i] = y[i] + h * (1.0 / 5 * k[0][i]);
        rate(p, z, k[1]);
        for (int i = 0; i < N; i++) z[i] = y[i] + h * (3.0 / 40 * k[0][i] + 9.0 / 40 * k[1][i]);
        rate(p, z, k[2]);
        for (int i = 0; i < N; i++) z[i] = y[i] + h * (44.0 / 45 * k[0][i] - 56.0 / 15 * k[1][i] + 32.0 / 9 * k[2][i]);
        rate(p, z, k[3]);
        for (int i = 0; i < N; i++)
            z[i] = y[i] + h * (19372.0 / 6561 * k[0][i] - 25360.0 / 2187 * k[1][i] + 64448.0 / 6561 * k[2][i]
                               - 212.0 / 729 * k[3][i]);
        rate(p, z, k[4]);
        for (int i = 0; i < N; i++)
            z[i] = y[i] + h * (9017.0 / 3168 * k[0][i] - 355.0 / 33 * k[1][i] + 46732.0 / 5247 * k[2][i]
                               + 49.0 / 176 * k[3][i] - 5103.0 / 18656 * k[4][i]);
        rate(p, z, k[5]);
        for (int i = 0; i < N; i++)
            z[i] = y[i] + h * (35.0 / 384 * k[0][i] + 500.0 / 1113 * k[2][i] + 125.0 / 192 * k[3][i]
                               - 2187.0 / 6784 * k[4][i] + 11.0 / 84 * k[5][i]);
        rate(p, z, k[6]);
        for (int i = 0; i < N; i++) {
            double e = h * (71.0 / 57600 * k[0][i] - 71.0 / 16695 * k[2][i] + 71.0 / 1920 * k[3][i]
                            - 17253.0 / 339200 * k[4][i] + 22.0 / 525 * k[5][i] - 1.0 / 40 * k[6][i]);
            error = fmax(error, fabs(e) / tolerance);
        }
        double factor = error > 0 ? 0.9 * pow(error, -0.2) : 5;
        if (error <= 1) {
            t += h;
            for (int i = 0; i < N; i++) y[i] = z[i];
            if (count == capacity) history = realloc(history, (capacity *= 2) * sizeof *history);
            history[count++] = h * (y[0] - 1) * (y[0] - 1);
        }
        h *= fmin(5, fmax(0.2, factor));
    }
    double sum = 0;
    for (int i = 0; i < count; i++) sum += history[i];
    free(history);
    *out = sum + y[1];
}

static double *p, *d_p, tolerance;

void setup(int size)
{
    static const double values[4] = {1, 3, 1.5, 3};
    tolerance = 1e-6 / size;
    p = realloc(p, sizeof values), d_p = fresh(d_p, sizeof values);
    memcpy(p, values, sizeof values);
}

double primal(void)
{
    double out;
    objective(tolerance, p, &out);
    return out;
}

void gradient(void)
{
    double out, seed = 1;
    memset(d_p, 0, 4 * sizeof *p);
    __enzyme_autodiff((void *)objective, enzyme_const, tolerance, enzyme_dup, p, d_p, enzyme_dup, &out, &seed);
}

double *derivative(int *count) { return *count = 4, d_p; }
