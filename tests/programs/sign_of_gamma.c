/* lgamma leaves the sign of the gamma function in `signgam`, and the next call another. */
#include "selfcheck.h"
extern int signgam;

__attribute__((noinline)) static double log_gamma(double a, double *sign)
{
    double value = lgamma(a);
    *sign *= signgam;
    return value;
}

static double f(const double *x, int n)
{
    double sum = lgamma(x[0] - 1.0), sign = 1;
    int first = signgam;
    sum += first * x[1] * x[2];
    sum += log_gamma(-x[1] - 0.7, &sign) * x[2];
    sum += lgammaf(2.5f) + signgam * x[n - 1];
    return sum + sign * x[0] * x[1];
}

int main(void) { CHECK_GRADIENT(f, 3); return failures(); }
