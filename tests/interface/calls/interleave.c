/* Shadows after all primal arguments; structs given by their addresses. */
#include "check.h"

static void f(const double *x, int n, double *out) {
    *out = 0;
    for (int i = 0; i < n; i++) *out += exp(x[i]);
}
static double g(double a, const double *x) { return a * x[0] * x[1]; }

int main(void) {
    double x[2] = {0.5, 1}, dx[2] = {0}, out, d = 1;
    __enzyme_autodiff_void((void *)f, enzyme_interleave, x, 2, &out, dx, &d);
    CHECK(dx[0], exp(0.5));
    CHECK(dx[1], exp(1.0));
    dx[0] = 1, dx[1] = 0;
    __enzyme_fwddiff_void((void *)f, enzyme_interleave, enzyme_dup, x, enzyme_const, 2, enzyme_dup, &out, dx, &d);
    CHECK(d, exp(0.5));
    double tangent = __enzyme_fwddiff((void *)g, enzyme_interleave, 3.0, x, 1.0, dx);
    CHECK(tangent, 0.5 * 1 + 3 * 1);
    double a = 3, da = 2;
    CHECK(__enzyme_autodiff((void *)g, enzyme_byref, 8, &a, enzyme_const, x), 0.5);
    CHECK(__enzyme_fwddiff((void *)g, enzyme_dup, enzyme_byref, 8, &a, &da, enzyme_const, x), 1);
    CHECK(__enzyme_autodiff((void *)g, 3.0, enzyme_not_overwritten, enzyme_dup, x, dx), 0.5);
    return failures;
}
