/* The paper's opening example: each element divided by the vector's norm, computed in the loop; quadratic until LLVM hoists it. */
#include "program.h"

__attribute__((noinline)) static double magnitude(int n, const double *x)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

OBJECTIVE void objective(int n, const double *restrict x, double *restrict y, double *restrict out)
{
    for (int i = 0; i < n; i++) y[i] = x[i] / magnitude(n, x);
    double sum = 0;
    for (int i = 0; i < n; i++) sum += y[i] * (1 + i % 5);
    *out = sum;
}

static double *x, *y, *d_x, *d_y;
static int n;

void setup(int size)
{
    n = size;
    x = realloc(x, n * sizeof *x), y = realloc(y, n * sizeof *x);
    d_x = fresh(d_x, n * sizeof *x), d_y = fresh(d_y, n * sizeof *x);
    for (int i = 0; i < n; i++) x[i] = noise(i) - 0.25;
}

double primal(void)
{
    double out;
    objective(n, x, y, &out);
    return out;
}

void gradient(void)
{
    double out, seed = 1;
    memset(d_x, 0, n * sizeof *x);
    memset(d_y, 0, n * sizeof *x);
    __enzyme_autodiff((void *)objective, enzyme_const, n, enzyme_dup, x, d_x, enzyme_dup, y, d_y, enzyme_dup, &out, &seed);
}

double *derivative(int *count) { return *count = n, d_x; }
