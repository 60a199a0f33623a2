/* A damped pendulum by Euler's method: the derivative by the initial state and the parameters. Size: steps. */
#include "program.h"

OBJECTIVE void objective(int steps, const double *restrict p, double *restrict out)
{
    double angle = p[0], speed = p[1], h = 1e-4;
    for (int i = 0; i < steps; i++) {
        double acceleration = -p[2] * sin(angle) - p[3] * speed;
        angle += h * speed;
        speed += h * acceleration;
    }
    *out = angle * angle + 0.5 * speed * speed;
}

static double *p, *d_p;
static int steps;

void setup(int size)
{
    steps = size;
    p = realloc(p, 4 * sizeof *p), d_p = fresh(d_p, 4 * sizeof *p);
    for (int i = 0; i < 4; i++) p[i] = 0.5 + noise(i);
}

double primal(void)
{
    double out;
    objective(steps, p, &out);
    return out;
}

void gradient(void)
{
    double out, seed = 1;
    memset(d_p, 0, 4 * sizeof *p);
    __enzyme_autodiff((void *)objective, enzyme_const, steps, enzyme_dup, p, d_p, enzyme_dup, &out, &seed);
}

double *derivative(int *count) { return *count = 4, d_p; }
