// `programs/euler.c` in ADOL-C's numbers; the trace is made anew for each gradient, as control flow may change.
#include "program.hpp"

static double p[4], d_p[4];
static int steps;

void setup(int size)
{
    steps = size;
    for (int i = 0; i < 4; i++) p[i] = 0.5 + noise(i);
}

template <class T> static T objective(const T *q)
{
    T angle = q[0], speed = q[1];
    double h = 1e-4;
    for (int i = 0; i < steps; i++) {
        T acceleration = -q[2] * sin(angle) - q[3] * speed;
        angle += h * speed;
        speed += h * acceleration;
    }
    return angle * angle + 0.5 * speed * speed;
}

double primal() { return objective(p); }

extern "C" PUBLIC void adjoint(void)
{
    double out;
    trace_on(1);
    adouble q[4];
    for (int i = 0; i < 4; i++) q[i] <<= p[i];
    objective(q) >>= out;
    trace_off();
    gradient(1, 4, p, d_p);
}

double *derivative(int *count) { return *count = 4, d_p; }
