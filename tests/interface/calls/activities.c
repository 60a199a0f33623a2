/* Markers about arguments and about the return. */
#include "check.h"

extern int diffe_dup, diffe_dupnoneed, diffe_const;

static double f(double x, double *p, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += sin(x * p[i]);
    return s;
}
static void paper(float *inp, int n, float *out) {
    float s = 0;
    for (int i = 0; i < n; i++) s += inp[i] * inp[i];
    *out = s;
}
static void set(double x, double *out) { *out = x * x * x; }
static double *second(double *p) { p[1] *= p[0]; return p + 1; }
static double constant_return(double *x, double *out) { *out = x[0] * x[1]; return x[0]; }
static int count(double *x, double *out) { *out = exp(x[0]); return 3; }
static void *const chosen = (void *)f;

int main(void) {
    double p[3] = {0.5, 1.5, -0.25}, dp[3] = {0}, h = 1e-6;
    double dx = (f(2 + h, p, 3) - f(2 - h, p, 3)) / (2 * h);

    CHECK_DIFFERENCE(__enzyme_autodiff((void *)f, 2.0, p, dp, 3), dx);
    CHECK(dp[0], 2 * cos(1.0));
    CHECK_DIFFERENCE(__enzyme_autodiff((void *)f, enzyme_out, 2.0, enzyme_const, p, enzyme_const, 3), dx);
    __enzyme_autodiff_void(&f, enzyme_const, 2.0, enzyme_dup, p, dp, 3);
    CHECK(dp[0], 4 * cos(1.0));
    CHECK_DIFFERENCE(__enzyme_autodiff(chosen, &enzyme_out, 2.0, &enzyme_const, p, 3), dx);
    two both = __enzyme_autodiff_two((void *)f, enzyme_primal_return, enzyme_out, 2.0, enzyme_const, p, 3);
    CHECK(both.a, f(2, p, 3));
    CHECK_DIFFERENCE(both.b, dx);

    float in[2] = {3, 4}, d_in[2] = {0}, d_out = 1;
    __enzyme_autodiff_void((void *)paper, diffe_dup, in, d_in, diffe_const, 2, diffe_dupnoneed, (float *)0, &d_out);
    CHECK(d_in[0], 6);
    CHECK(d_in[1], 8);
    CHECK(d_out, 0);

    double out, d = 1;
    CHECK(__enzyme_autodiff((void *)set, 3.0, &out, &d), 27);
    CHECK(d, 0);
    d = 2;
    __enzyme_fwddiff_void((void *)set, 3.0, 1.0, &out, &d);
    CHECK(d, 27);
    CHECK(out, 27);
    __enzyme_fwddiff_void((void *)set, 3.0, 2.0, enzyme_dupnoneed, (double *)0, &d);
    CHECK(d, 54);

    double q[2] = {3, 4}, dq[2] = {1, 10};
    double *__enzyme_fwddiff_pointer(void *, ...);
    double *shadow = __enzyme_fwddiff_pointer((void *)second, q, dq);
    CHECK(shadow == dq + 1, 1);
    CHECK(*shadow, 10 * 3 + 4);

    double x[2] = {3, 4}, gx[2] = {0};
    d = 1;
    __enzyme_autodiff_void((void *)constant_return, enzyme_const_return, x, gx, &out, &d);
    CHECK(gx[0], 4);
    CHECK(gx[1], 3);
    d = 1;
    __enzyme_autodiff_void((void *)constant_return, enzyme_active_return, x, gx, &out, &d);
    CHECK(gx[0], 9);
    gx[0] = gx[1] = 0, d = 1;
    __enzyme_autodiff_void((void *)constant_return, enzyme_noret, x, gx, &out, &d);
    CHECK(gx[0], 5);
    gx[0] = 0, d = 1, x[0] = 0.5;
    __enzyme_autodiff_void((void *)count, x, gx, &out, &d);
    CHECK(gx[0], exp(0.5));
    CHECK(__enzyme_fwddiff((void *)constant_return, enzyme_dup_return, x, gx, &out, &d), exp(0.5));
    return failures;
}
