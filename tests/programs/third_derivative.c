/* Three derivatives, one inside the other. */
#include "selfcheck.h"
static double f(double x) { return exp(2 * x) * x; }
static double d1(double x) { return __enzyme_fwddiff((void *)f, x, 1.0); }
static double d2(double x) { return __enzyme_fwddiff((void *)d1, x, 1.0); }
static double d3(double x) { return __enzyme_fwddiff((void *)d2, x, 1.0); }
int main(void)
{
    expect("third", 0, d3(0.3), exp(0.6) * (8 * 0.3 + 12));
    return failures();
}
