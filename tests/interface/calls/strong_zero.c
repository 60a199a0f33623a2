/* A zero tangent or adjoint times infinity is zero. */
#include "check.h"

static double f(double x, double y) { return sqrt(x) * (x > 0) + y / 3; }
static void two_roots(const double *x, double *y) {
    y[0] = sqrt(x[0]);
    y[1] = log(x[0]) * x[1];
}

int main(void) {
    double x[2] = {0, 2}, dx[2] = {0, 0}, y[2], dy[2] = {0, 0};
    __enzyme_autodiff_void((void *)two_roots, enzyme_strong_zero, enzyme_dup, x, dx, enzyme_dup, y, dy);
    CHECK(dx[0], 0);
    CHECK(dx[1], 0);
    two g = __enzyme_autodiff_two((void *)f, enzyme_strong_zero, enzyme_out, 0.0, enzyme_out, 1.0);
    CHECK(g.a, 0);
    CHECK(g.b, 1 / 3.0);
    CHECK(__enzyme_fwddiff((void *)f, enzyme_strong_zero, enzyme_dup, 0.0, 0.0, enzyme_dup, 1.0, 1.0), 1 / 3.0);
    return failures;
}
