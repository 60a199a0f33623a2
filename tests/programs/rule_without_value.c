/* A rule of which the augmented function returns its tape alone: for a function without a body here, whose value nobody
 * looks at. */
#include "selfcheck.h"

int scale(double *x, int n, double by);

static void *scale_forward(double *x, double *dx, int n, double by)
{
    double *tape = malloc(sizeof *tape);
    *tape = by;
    scale(x, n, by);
    return tape;
}

static double scale_reverse(double *x, double *dx, int n, double by, double *tape)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        sum += dx[i] * x[i] / *tape;
        dx[i] *= *tape;
    }
    free(tape);
    return sum;
}

void *__enzyme_register_gradient_scale[] = {(void *)scale, (void *)scale_forward, (void *)scale_reverse};

static double f(double *x, int n, double by)
{
    scale(x, n, by);
    double s = 0;
    for (int i = 0; i < n; i++)
        s += x[i] * x[i];
    return s;
}

int main(void)
{
    double x[2] = {1, 2}, d[2] = {0, 0};
    double by = __enzyme_autodiff((void *)f, enzyme_dup, x, d, enzyme_const, 2, enzyme_out, 3.0);
    expect("x", 0, d[0], 18);
    expect("x", 1, d[1], 36);
    expect("by", 0, by, 2 * 3 * 5);
    return failures();
}

__attribute__((noinline)) int scale(double *x, int n, double by)
{
    for (int i = 0; i < n; i++)
        x[i] *= by;
    return n;
}
