/* The price of an option and its sensitivities. */
#include "selfcheck.h"
static double phi(double x) { return 0.5 * erfc(-x / sqrt(2)); }
static double f(const double *x, int n)
{
    double spot = 90 + x[0], strike = 100, rate = 0.02 * x[1], sigma = 0.1 * x[2], years = x[n - 1];
    double d1 = (log(spot / strike) + (rate + sigma * sigma / 2) * years) / (sigma * sqrt(years));
    double d2 = d1 - sigma * sqrt(years);
    return spot * phi(d1) - strike * exp(-rate * years) * phi(d2);
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
