/* A series that is summed until its terms are small. */
#include "selfcheck.h"
static double f(double x)
{
    double term = x, sum = x;
    for (int k = 1; fabs(term) > 1e-17; k++)
        sum += term *= -x * x / ((2 * k) * (2 * k + 1));
    return sum * sum;
}
int main(void) { CHECK_SLOPE(f, 1.1); CHECK_SLOPE(f, -0.4); return failures(); }
