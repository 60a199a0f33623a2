/* Functions whose derivatives llgrad brings bodies for, in derivatives that are made before others are. */
#include "selfcheck.h"
#include <complex.h>
static double gamma_of(double x) { return tgamma(x + 1) * x; }
static double log_gamma(double x) { return lgamma(x + 1); }
static double digamma(double x) { return __enzyme_autodiff((void *)log_gamma, x); }
static double trigamma(double x) { return __enzyme_fwddiff((void *)digamma, x, 1.0); }
static double spiral(double x)
{
    long double complex z = cexpl(x + 1.0L * I * x); /* passed in memory */
    return (double)(creall(z) * cimagl(z));
}
static double turned(double x) { return __enzyme_fwddiff((void *)spiral, x, 1.0); }
int main(void)
{
    CHECK_SLOPE(gamma_of, 0.5);
    CHECK_SLOPE(digamma, 0.5);
    CHECK_SLOPE(trigamma, 0.5);
    CHECK_SLOPE(spiral, 0.5);
    CHECK_SLOPE(turned, 0.5);
    return failures();
}
