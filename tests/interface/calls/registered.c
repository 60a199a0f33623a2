/* Rules of the user's: called in every mode, in callees, through pointers; nothing is known from the body. */
#include "check.h"

static int forward_runs, reverse_runs;

/* The value is constant: only the rule knows a derivative. */
static double constant(double x) { (void)x; return 7; }
static void *constant_augmented(double x) { (void)x; forward_runs++; return 0; }
static double constant_reverse(double x, double seed, void *tape) { (void)tape; reverse_runs++; return 100 * x * seed; }
static double constant_forward(double x, double dx) { return 100 * x * dx; }
void *__enzyme_register_gradient_constant[] = {(void *)constant, (void *)constant_augmented, (void *)constant_reverse};
void *__enzyme_register_derivative_constant[] = {(void *)constant, (void *)constant_forward};

/* Bits of floats, a tape of its own, and pointers. */
typedef struct { double *tape; double value; } augmented;
static double norm(const double *x, int n) {
    long bits = 0;
    for (int i = 0; i < n; i++) { long b; memcpy(&b, x + i, 8); bits ^= b; }
    double s = 0;
    for (int i = 0; i < n; i++) s += x[i] * x[i];
    return bits == 12345 ? 0 : s;
}
static augmented norm_augmented(const double *x, double *dx, int n) {
    (void)dx;
    augmented a = {malloc(n * sizeof(double)), norm(x, n)};
    memcpy(a.tape, x, n * sizeof(double));
    return a;
}
static void norm_reverse(const double *x, double *dx, int n, double seed, double *tape) {
    if (dx != x) for (int i = 0; i < n; i++) dx[i] += 2 * tape[i] * seed;
    free(tape);
}
typedef struct { double value, tangent; } both;
static both norm_forward(const double *x, const double *dx, int n) {
    double t = 0;
    if (dx != x) for (int i = 0; i < n; i++) t += 2 * x[i] * dx[i];
    return (both){norm(x, n), t};
}
void *__enzyme_register_gradient_norm[] = {(void *)norm, (void *)norm_augmented, (void *)norm_reverse};
void *__enzyme_register_derivative_norm[] = {(void *)norm, (void *)norm_forward};

/* In place, nothing returned. */
static void twice(double *x) { *x *= 2; }
static void twice_augmented(double *x, double *dx) { (void)dx; *x *= 2; }
static void twice_reverse(double *x, double *dx) { (void)x; *dx *= 3; }
static void twice_forward(double *x, double *dx) { *x *= 2, *dx *= 3; }
void *__enzyme_register_gradient_twice[] = {(void *)twice, (void *)twice_augmented, (void *)twice_reverse};
void *__enzyme_register_derivative_twice[] = {(void *)twice, (void *)twice_forward};

/* Two floats: their adjoints come as a vector of two. */
static float product(float a, float b) { return a * b; }
static float product_augmented(float a, float b) { return a * b; }
static twof product_reverse(float a, float b, float seed) { return (twof){b * seed, 10 * a * seed}; }
void *__enzyme_register_gradient_product[] = {(void *)product, (void *)product_augmented, (void *)product_reverse};

static double direct(double x) { return constant(x) * x; }
__attribute__((noinline)) static double inner(double x) { return constant(x * x); }
static double nested(double x) { double s = 0; for (int i = 0; i < 3; i++) s += inner(x + i); return s; }
static double pointer(double x, int which) {
    double (*f)(double) = which ? constant : inner;
    return f(x);
}
static double norms(const double *x, const double *c, int n) { return norm(x, n) * norm(c, n); }
static double changed(double x) { double y = x * x; twice(&y); return y * x; }
static float products(float x) { return product(x, 2 * x); }
static double in_loop(double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) { s += norm(x, n - i); twice(x); }
    return s;
}

int main(void) {
    CHECK(__enzyme_autodiff((void *)direct, 3.0), 300 * 3 + 7);
    CHECK(__enzyme_fwddiff((void *)direct, 3.0, 1.0), 300 * 3 + 7);
    CHECK(forward_runs, 1);
    CHECK(reverse_runs, 1);
    CHECK(__enzyme_autodiff((void *)constant, 3.0), 300);
    CHECK(__enzyme_fwddiff((void *)constant, 3.0, 2.0), 600);
    double expected = 0;
    for (int i = 0; i < 3; i++) expected += 100 * pow(2 + i, 2) * 2 * (2 + i);
    CHECK(__enzyme_autodiff((void *)nested, 2.0), expected);
    CHECK(__enzyme_fwddiff((void *)nested, 2.0, 1.0), expected);
    CHECK(__enzyme_autodiff((void *)pointer, 3.0, 1), 300);
    CHECK(__enzyme_autodiff((void *)pointer, 3.0, 0), 100 * 9 * 6);
    CHECK(__enzyme_fwddiff((void *)pointer, 3.0, 1.0, enzyme_const, 1), 300);

    double x[2] = {3, 4}, dx[2] = {0}, c[2] = {1, 2};
    __enzyme_autodiff_void((void *)norms, x, dx, enzyme_const, c, 2);
    CHECK(dx[0], 30);
    CHECK(dx[1], 40);
    CHECK(c[0], 1);
    dx[0] = dx[1] = 0;
    __enzyme_autodiff_void((void *)norms, enzyme_runtime_activity, enzyme_dup, x, dx, enzyme_dup, c, c, 2);
    CHECK(dx[0], 30);
    CHECK(c[0], 1);
    dx[0] = 1, dx[1] = 0;
    CHECK(__enzyme_fwddiff((void *)norms, x, dx, enzyme_const, c, enzyme_const, 2), 30);
    CHECK(__enzyme_autodiff((void *)changed, 3.0), 2 * 9 + 3 * 2 * 3 * 3);
    CHECK(__enzyme_fwddiff((void *)changed, 3.0, 1.0), 2 * 9 + 3 * 2 * 3 * 3);
    CHECK(__enzyme_autodiff_float((void *)products, 3.0f), 6 + 2 * 10 * 3);

    dx[0] = dx[1] = 0;
    __enzyme_autodiff_void((void *)in_loop, x, dx, 2);
    CHECK(dx[0], 6 + 3 * (2 * 6));
    CHECK(dx[1], 8);

    typedef struct { void *tape; double value; } kept;
    kept __enzyme_augmentfwd_value(void *, ...);
    double __enzyme_reverse(void *, ...);
    double u[2] = {3, 4}, du[2] = {0};
    kept k = __enzyme_augmentfwd_value((void *)norms, u, du, enzyme_const, c, 2);
    CHECK(k.value, 125);
    u[0] = u[1] = 0;
    __enzyme_reverse((void *)norms, u, du, enzyme_const, c, 2, 1.0, k.tape);
    CHECK(du[1], 40);
    return failures;
}
