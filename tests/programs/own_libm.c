/* A function of libm that the program defines itself, under its own name and called where its address does not matter. */
#include "selfcheck.h"
double hypot(double x, double y)
{
    if (x < 0.)
        x = -x;
    if (y < 0.)
        y = -y;
    if (x < y) {
        x /= y;
        return y * sqrt(1. + x * x);
    }
    y /= x;
    return x * sqrt(1. + y * y);
}
static double f(const double *x, int n) { return hypot(x[0], x[1]) * hypot(x[n - 1], 1); }
int main(void) { CHECK_GRADIENT(f, 3); return failures(); }
