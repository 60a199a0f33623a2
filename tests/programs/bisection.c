/* A root by bisection and a last step of Newton's: only that step carries the derivative. */
#include "selfcheck.h"
static double f(double a)
{
    double low = 0, high = 4;
    while (high - low > 1e-9) {
        double m = (low + high) / 2;
        if (m * m * m > a)
            high = m;
        else
            low = m;
    }
    double m = low;
    m -= (m * m * m - a) / (3 * m * m);
    return m;
}
int main(void)
{
    expect("cube root", 0, __enzyme_autodiff((void *)f, 5.0), pow(5, -2.0 / 3) / 3);
    return failures();
}
