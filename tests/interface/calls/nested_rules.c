/* Derivatives of derivatives through rules of the user's; activity decided at run time. */
#include "check.h"

static double sq(double x) { return x * x * x; }
typedef struct { void *tape; double v; } aug;
static aug sq_a(double x) { return (aug){0, x * x * x}; }
static double sq_r(double x, double s, void *t) { (void)t; return 3 * x * x * s; }
typedef struct { double value, tangent; } both;
static both sq_f(double x, double dx) { return (both){x * x * x, 3 * x * x * dx}; }
void *__enzyme_register_gradient_sq[] = {(void *)sq, (void *)sq_a, (void *)sq_r};
void *__enzyme_register_derivative_sq[] = {(void *)sq, (void *)sq_f};
static double my_exp(double x) { return exp(x); }
void *__enzyme_function_like[] = {(void *)my_exp, (void *)"exp"};
static double f(double x) { return sq(x) * my_exp(x); }
static double df(double x) { return __enzyme_autodiff((void *)f, x); }
static double tf(double x) { return __enzyme_fwddiff((void *)f, x, 1.0); }
static double pick(const double *a, const double *b, int n, int which) {
    const double *p = which ? a : b;
    double s = 0;
    for (int i = 0; i < n; i++) s += p[i] * p[i];
    return s;
}

int main(void) {
    double x = 1.5, e = exp(x);
    double second = 6 * x * e + 6 * x * x * e + x * x * x * e;
    CHECK(__enzyme_fwddiff((void *)df, x, 1.0), second);
    CHECK(__enzyme_autodiff((void *)df, x), second);
    CHECK(__enzyme_autodiff((void *)tf, x), second);
    double a[2] = {1, 2}, da[2] = {0}, b[2] = {3, 4};
    __enzyme_autodiff_void((void *)pick, enzyme_runtime_activity, enzyme_dup, a, da, enzyme_dup, b, b, 2, 0);
    CHECK(da[0], 0);
    CHECK(b[0], 3);
    __enzyme_autodiff_void((void *)pick, enzyme_runtime_activity, enzyme_dup, a, da, enzyme_const, b, 2, 1);
    CHECK(da[1], 4);
    return failures;
}
