/* long double throughout; a derivative that is called twice, in branches, and where nothing depends on it. */
#include "check.h"
static long double f(long double x, long double y) { return expl(x * y) / (1 + x * x); }
static long double fx(long double x, long double y) {
    return __enzyme_autodiff_long((void *)f, enzyme_out, x, enzyme_const, y);
}
static long double both(long double x, long double y) {
    long double a = fx(x, y), ignored = fx(y, x);
    return y > 0 ? a * fx(a, y) : ignored;
}
int main(void) {
    long double x = 0.7L, y = 0.4L, h = 1e-6L;
    long double r = __enzyme_autodiff_long((void *)both, enzyme_out, x, enzyme_const, y);
    long double t = __enzyme_fwddiff_long((void *)both, enzyme_dup, x, 1.0L, enzyme_const, y);
    long double negative = __enzyme_autodiff_long((void *)both, enzyme_out, x, enzyme_const, -y);
    CHECK_DIFFERENCE(r, (both(x + h, y) - both(x - h, y)) / (2 * h));
    CHECK_DIFFERENCE(negative, (both(x + h, -y) - both(x - h, -y)) / (2 * h));
    near_("t - r", (double)(t - r), 0, 1e-16, __LINE__);
    return failures;
}
