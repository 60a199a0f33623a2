/* A recursion whose branches depend on active numbers. */
#include "selfcheck.h"
static double g(int m, double x)
{
    if (m == 0)
        return x + 0.5;
    if (x < 0.5)
        return g(m - 1, x * x + 1);
    return g(m - 1, g(m, x - 0.6)) * 0.9;
}
static double f(double x) { return g(2, x); }
int main(void) { CHECK_SLOPE(f, 0.83); CHECK_SLOPE(f, 1.77); return failures(); }
