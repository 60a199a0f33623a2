#include "check.h"

/* Markers about the call mean the same before the arguments, between them and after them. */
static three powers(const double *x) { return (three){x[0], x[0] * x[0], x[0] * x[0] * x[0]}; }
static double product(double x, double y) { return x * y; }
two __enzyme_batch_two(void *, ...);
static double squared(double x, int n) { return n * x * x; }

int main(void) {
    double x = 2, dx = 0;
    __enzyme_autodiff_void((void *)powers, enzyme_dup, &x, &dx);
    CHECK(dx, 1 + 4 + 12);
    dx = 0;
    __enzyme_autodiff_void((void *)powers, enzyme_dup, &x, &dx, enzyme_const_return);
    CHECK(dx, 0);
    __enzyme_autodiff_void((void *)powers, enzyme_const_return, enzyme_dup, &x, &dx);
    CHECK(dx, 0);
    two both =
        __enzyme_fwddiff_two((void *)product, enzyme_dup, 2.0, 1.0, 0.0, enzyme_dup, 3.0, 0.0, 1.0, enzyme_width, 2);
    CHECK(both.a, 3);
    CHECK(both.b, 2);
    both = __enzyme_batch_two((void *)product, enzyme_scalar, 10.0, enzyme_width, 2, enzyme_vector, 2.0, 3.0);
    CHECK(both.a, 20);
    CHECK(both.b, 30);
    both = __enzyme_fwddiff_two((void *)squared, enzyme_dup, 3.0, 1.0, enzyme_primal_return, enzyme_const, 2);
    CHECK(both.a, 18);
    CHECK(both.b, 12);
    return failures;
}
