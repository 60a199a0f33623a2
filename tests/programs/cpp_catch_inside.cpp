// An exception that is thrown and caught inside decides which branch is taken.
#include "selfcheck.h"
static double careful(double x)
{
    if (x > 1)
        throw 1;
    return x * x;
}
static double f(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        try {
            sum += careful(x[i]);
        } catch (int) {
            sum += 3 * x[i];
        }
    return sum;
}
int main() { CHECK_GRADIENT(f, 6); return failures(); }
