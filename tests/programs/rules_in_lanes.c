/* Rules of functions that write memory, with several lanes: the function runs once for each, which is right where it does not read
 * what it has written. Rules give ten times the derivative, to be told from the function's own. */
#include "selfcheck.h"

typedef struct { double first, second; } pair;
pair __enzyme_autodiff_two(void *, ...);
pair __enzyme_fwddiff_two(void *, ...);

__attribute__((noinline)) static void cubes(const double *x, double *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = x[i] * x[i] * x[i];
}
static double *cubes_forward(const double *x, double *dx, double *y, double *dy, int n)
{
    double *tape = malloc(n * sizeof *tape);
    for (int i = 0; i < n; i++) {
        tape[i] = 30 * x[i] * x[i];
        y[i] = x[i] * x[i] * x[i];
    }
    return tape;
}
static void cubes_reverse(const double *x, double *dx, double *y, double *dy, int n, double *tape)
{
    for (int i = 0; i < n; i++) {
        dx[i] += dy[i] * tape[i];
        dy[i] = 0;
    }
    free(tape);
}
static void cubes_tangent(const double *x, const double *dx, double *y, double *dy, int n)
{
    for (int i = 0; i < n; i++) {
        y[i] = x[i] * x[i] * x[i];
        dy[i] = 30 * x[i] * x[i] * dx[i];
    }
}
void *__enzyme_register_gradient_cubes[] = {(void *)cubes, (void *)cubes_forward, (void *)cubes_reverse};
void *__enzyme_register_derivative_cubes[] = {(void *)cubes, (void *)cubes_tangent};

static double sum(double x, double a)
{
    double in[2] = {x, a * x}, out[2], total = 0;
    for (int k = 1; k < 3; k++) {
        cubes(in, out, 2);
        total += k * out[0] + out[1];
        in[1] = out[0] / k;
    }
    return total;
}

/* d(sum)/dx and /da, with the derivative of a cube as the rule has it */
static double by_rule(double x, double a, double dx, double da)
{
    double in[2] = {x, a * x}, d[2] = {dx, da * x + a * dx}, total = 0;
    for (int k = 1; k < 3; k++) {
        double out = 30 * in[0] * in[0] * d[0];
        total += k * out + 30 * in[1] * in[1] * d[1];
        in[1] = in[0] * in[0] * in[0] / k, d[1] = out / k;
    }
    return total;
}

int main(void)
{
    double x = 0.8, a = 1.3;
    pair both = __enzyme_fwddiff_two((void *)sum, enzyme_width, 2, enzyme_dup, x, 1.0, 0.5, enzyme_dup, a, 0.0, -2.0);
    expect("tangent", 0, both.first, by_rule(x, a, 1, 0));
    expect("tangent", 1, both.second, by_rule(x, a, 0.5, -2));
    both = __enzyme_autodiff_two((void *)sum, enzyme_width, 2, enzyme_out, x, enzyme_const, a);
    expect("adjoint", 0, both.first, by_rule(x, a, 1, 0));
    expect("adjoint", 1, both.second, by_rule(x, a, 1, 0));
    both = __enzyme_autodiff_two((void *)sum, enzyme_out, x, enzyme_out, a);
    expect("adjoint", 2, both.first, by_rule(x, a, 1, 0));
    expect("adjoint", 3, both.second, by_rule(x, a, 0, 1));
    return failures();
}
