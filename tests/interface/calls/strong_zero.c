/* A zero adjoint times infinity is zero, if asked. */
#include "check.h"

static double f(double x, double y) { double r = sqrt(x) * y; return y > 0 ? r : y; }
static double root(double x) { return sqrt(x); }
static double times_zero(double x) { return 0 * sqrt(x) + x; }

int main(void) {
    two g = __enzyme_autodiff_two((void *)f, enzyme_strong_zero, 0.0, 0.0);
    CHECK(g.a, 0);
    CHECK(g.b, 1);
    CHECK(__enzyme_fwddiff((void *)root, enzyme_strong_zero, 0.0, 0.0), 0);
    CHECK(isnan(__enzyme_fwddiff((void *)root, 0.0, 0.0)), 1);
    CHECK(__enzyme_autodiff((void *)times_zero, enzyme_strong_zero, 0.0), 1);
    return failures;
}
