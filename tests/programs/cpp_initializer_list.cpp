// Initializer lists and range loops.
#include "selfcheck.h"
#include <vector>
static double f(const double *x, int n)
{
    std::vector<double> v{x[0], x[1] * x[1], 3.0, x[n - 1]};
    double sum = 0;
    for (double k : {1.0, 2.0, 3.0})
        for (double e : v)
            sum += k * e * e;
    return sum;
}
int main() { CHECK_GRADIENT(f, 3); return failures(); }
