/* The price of an Asian call option by Monte Carlo: the Greeks. Size: paths of 32 steps. */
#include "program.h"

enum { STEPS = 32 };

OBJECTIVE void objective(int paths, const double *restrict p, const double *restrict normal, double *restrict out)
{
    double spot = p[0], strike = p[1], rate = p[2], volatility = p[3], dt = p[4] / STEPS, sum = 0;
    for (int i = 0; i < paths; i++) {
        double s = spot, mean = 0;
        for (int t = 0; t < STEPS; t++) {
            s *= exp((rate - 0.5 * volatility * volatility) * dt + volatility * sqrt(dt) * normal[i * STEPS + t]);
            mean += s;
        }
        sum += fmax(mean / STEPS - strike, 0);
    }
    *out = sum / paths * exp(-rate * p[4]);
}

static double *p, *d_p, *normal;
static int paths;

void setup(int size)
{
    static const double values[5] = {100, 98, 0.03, 0.2, 1};
    paths = size;
    p = realloc(p, sizeof values), d_p = fresh(d_p, sizeof values);
    memcpy(p, values, sizeof values);
    normal = realloc(normal, paths * STEPS * sizeof *normal);
    for (int i = 0; i < paths * STEPS; i++)
        normal[i] = sqrt(-2 * log(noise(2 * i) + 1e-300)) * cos(2 * M_PI * noise(2 * i + 1));
}

double primal(void)
{
    double out;
    objective(paths, p, normal, &out);
    return out;
}

void gradient(void)
{
    double out, seed = 1;
    memset(d_p, 0, 5 * sizeof *p);
    __enzyme_autodiff((void *)objective, enzyme_const, paths, enzyme_dup, p, d_p, enzyme_const, normal, enzyme_dup, &out, &seed);
}

double *derivative(int *count) { return *count = 5, d_p; }
