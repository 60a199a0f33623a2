// std::sort: numbers change places.
#include "selfcheck.h"
#include <algorithm>
#include <vector>
static double f(const double *x, int n)
{
    std::vector<double> y(x, x + n);
    std::sort(y.begin(), y.end());
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += (i + 1) * y[i] * y[i];
    return sum;
}
int main() { CHECK_GRADIENT(f, 7); return failures(); }
