/* Functions that are like those of a library, behind pointers: numbers, complex numbers, results through pointers. */
#include "selfcheck.h"
#include <complex.h>
__attribute__((noinline)) static double my_exp(double x)
{
    double sum = 1, term = 1;
    for (int i = 1; i < 30; i++) {
        term *= x / i;
        sum += term;
    }
    return sum;
}
__attribute__((noinline)) double my_hypot(double x, double y) { return sqrt(x * x + y * y); }
__attribute__((noinline)) double complex my_cexp(double complex z)
{
    return exp(creal(z)) * (cos(cimag(z)) + I * sin(cimag(z)));
}
__attribute__((noinline)) double complex squared(double complex z) { return z * z; }
__attribute__((noinline)) void my_sincos(double x, double *s, double *c) { *s = sin(x), *c = cos(x); }
void *__enzyme_function_like_exp[] = {(void *)my_exp, "exp"};
void *__enzyme_function_like_hypot[] = {(void *)my_hypot, "hypot"};
void *__enzyme_function_like_cexp[] = {(void *)my_cexp, "cexp"};
void *__enzyme_function_like_sincos[] = {(void *)my_sincos, "sincos"};
static double (*const table[])(double, double) = {my_hypot, pow};

static double chosen(double x)
{
    double (*p)(double) = x > 1 ? my_exp : sin;
    return p(x) * p(2 * x);
}
static double of_complex(double x)
{
    double complex (*p)(double complex) = x > 1 ? my_cexp : squared;
    double complex z = p(x + 2 * I * x);
    return creal(z) * cimag(z);
}
static double of_table(double x)
{
    double sum = 0;
    for (int i = 0; i < 2; i++)
        sum += table[i](x, 2 + x);
    return sum;
}
static double through_pointers(double x)
{
    void (*volatile p)(double, double *, double *) = my_sincos;
    double a, b, c, d;
    p(x, &a, &b);
    my_sincos(a, &c, &d);
    return a * b * c + d;
}
static double given(double (*f)(double, double), double x) { return f(x, x * x); }

int main(void)
{
    CHECK_SLOPE(chosen, 0.7);
    CHECK_SLOPE(chosen, 1.2);
    CHECK_SLOPE(of_complex, 0.7);
    CHECK_SLOPE(of_complex, 1.2);
    CHECK_SLOPE(of_table, 0.7);
    CHECK_SLOPE(through_pointers, 0.7);
    double wanted = (0.7 + 2 * 0.7 * 0.7 * 0.7) / sqrt(0.7 * 0.7 + 0.7 * 0.7 * 0.7 * 0.7);
    expect("given", 0, __enzyme_autodiff((void *)given, enzyme_const, my_hypot, enzyme_out, 0.7), wanted);
    return failures();
}
