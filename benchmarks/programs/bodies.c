/* Gravity among bodies, leapfrog steps: the derivative of the energy by the initial state. Size: bodies; 4 steps. */
#include "program.h"

enum { STEPS = 4 };

typedef struct {
    double x[3], v[3], mass;
} Body;

static void advance(int n, Body *restrict b, double h)
{
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            double d[3], r2 = 1e-2;
            for (int k = 0; k < 3; k++) d[k] = b[i].x[k] - b[j].x[k], r2 += d[k] * d[k];
            double f = h / (r2 * sqrt(r2));
            for (int k = 0; k < 3; k++) {
                b[i].v[k] -= d[k] * b[j].mass * f;
                b[j].v[k] += d[k] * b[i].mass * f;
            }
        }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) b[i].x[k] += h * b[i].v[k];
}

OBJECTIVE void objective(int n, Body *restrict b, double *restrict out)
{
    for (int t = 0; t < STEPS; t++) advance(n, b, 1e-2);
    double energy = 0;
    for (int i = 0; i < n; i++) {
        double speed = 0;
        for (int k = 0; k < 3; k++) speed += b[i].v[k] * b[i].v[k];
        energy += 0.5 * b[i].mass * speed + b[i].x[0];
    }
    *out = energy;
}

static Body *start, *bodies, *d_bodies;
static int n;

void setup(int size)
{
    n = size;
    start = realloc(start, n * sizeof *start), bodies = realloc(bodies, n * sizeof *start);
    d_bodies = fresh(d_bodies, n * sizeof *start);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++) start[i].x[k] = noise(7 * i + k), start[i].v[k] = noise(7 * i + 3 + k) - 0.5;
        start[i].mass = 0.5 + noise(7 * i + 6);
    }
}

double primal(void)
{
    double out;
    memcpy(bodies, start, n * sizeof *start);
    objective(n, bodies, &out);
    return out;
}

void gradient(void)
{
    double out, seed = 1;
    memcpy(bodies, start, n * sizeof *start);
    memset(d_bodies, 0, n * sizeof *start);
    __enzyme_autodiff((void *)objective, enzyme_const, n, enzyme_dup, bodies, d_bodies, enzyme_dup, &out, &seed);
}

double *derivative(int *count) { return *count = 7 * n, (double *)d_bodies; }
