/* Rules of the user's for forward mode from a tape. */
#include "selfcheck.h"
typedef struct { void *tape; double value; } kept;
typedef struct { double value, tangent; } both;
kept __enzyme_augmentfwd(void *, ...);
double __enzyme_fwdsplit(void *, ...);
static double square(double x) { return x * x; }
static kept square_forward(double x)
{
    double *tape = (double *)malloc(sizeof(double));
    *tape = x;
    kept a = {tape, x * x};
    return a;
}
static double square_tangent(double x, double dx, double *tape)
{
    double was = *tape;
    free(tape);
    return 100 * was * dx;
}
void *__enzyme_register_splitderivative_square[] = {(void *)square, (void *)square_forward, (void *)square_tangent};
static void scale(double *x, double k) { x[0] *= k; }
static void *scale_forward(double *x, double *dx, double k)
{
    double *tape = (double *)malloc(sizeof(double));
    *tape = x[0];
    x[0] *= k;
    return tape;
}
static void scale_tangent(double *x, double *dx, double k, double dk, void *tape)
{
    dx[0] = 7 * (dx[0] * k + dk * *(double *)tape);
    free(tape);
}
void *__enzyme_register_splitderivative_scale[] = {(void *)scale, (void *)scale_forward, (void *)scale_tangent};
static double cube(double x) { return x * x * x; } /* without a tape, for forward mode of every kind */
static both cube_tangent(double x, double dx)
{
    both r = {x * x * x, 10 * x * dx};
    return r;
}
void *__enzyme_register_derivative_cube[] = {(void *)cube, (void *)cube_tangent};
static double f(double *x, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += square(x[i]) + cube(x[i]);
    scale(x, 3);
    return s + x[0];
}
int main(void)
{
    double x[2] = {2, 5}, t[2] = {1, 0.5};
    kept a = __enzyme_augmentfwd((void *)f, enzyme_dup, x, t, enzyme_const, 2);
    expect("value", 0, a.value, 4 + 8 + 25 + 125 + 6);
    x[0] = x[1] = 77;
    expect("tangent", 0, __enzyme_fwdsplit((void *)f, enzyme_dup, x, t, enzyme_const, 2, a.tape), 200 + 20 + 250 + 25 + 21);
    return failures();
}
