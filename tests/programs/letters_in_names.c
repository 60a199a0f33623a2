/* Names of functions and variables in letters of other alphabets, and with spaces. */
#include "selfcheck.h"

static double größe[3] = {1, 2, 3};
static double überall = 1;

__attribute__((noinline)) static double λ(double x)
{
    größe[1] = x * x;
    überall = x;
    return größe[1] * größe[2] * überall;
}

double f(double δx) { return λ(δx) + sin(δx); }
double spaced(double) __asm__("name with spaces");
double spaced(double x) { return x * f(x); }

int main(void)
{
    CHECK_SLOPE(f, 1.3);
    CHECK_SLOPE(spaced, 0.7);
    return failures();
}
