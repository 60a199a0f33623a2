/* ADBench's Gaussian mixture model: the gradient by alphas, means and icf. Size: dimensions; 500 points, 25 components. */
#include "program.h"
#include "../../examples/adbench/gmm.c"

enum { K = 25, N = 500 };

static double *p, *d_p, *x;
static int d, parameters;

void setup(int size)
{
    d = size, parameters = K * (1 + d + d * (d + 1) / 2);
    p = realloc(p, parameters * sizeof *p), d_p = fresh(d_p, parameters * sizeof *p);
    x = realloc(x, N * d * sizeof *x);
    for (int i = 0; i < parameters; i++) p[i] = noise(i);
    for (int i = 0; i < N * d; i++) x[i] = noise(5 * i);
}

double primal(void)
{
    double out;
    gmm_objective(d, K, N, p, p + K, p + K * (1 + d), x, 1.0, 0, &out);
    return out;
}

void gradient(void)
{
    double out, seed = 1;
    memset(d_p, 0, parameters * sizeof *p);
    __enzyme_autodiff((void *)gmm_objective, enzyme_const, d, enzyme_const, K, enzyme_const, N, enzyme_dup, p, d_p,
                      enzyme_dup, p + K, d_p + K, enzyme_dup, p + K * (1 + d), d_p + K * (1 + d), enzyme_const, x,
                      enzyme_const, 1.0, enzyme_const, 0, enzyme_dup, &out, &seed);
}

double *derivative(int *count) { return *count = parameters, d_p; }
