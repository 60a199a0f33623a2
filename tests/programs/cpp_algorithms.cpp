// accumulate, transform, inner_product.
#include "selfcheck.h"
#include <algorithm>
#include <numeric>
#include <vector>
static double f(const double *x, int n)
{
    std::vector<double> y(n);
    std::transform(x, x + n, y.begin(), [](double v) { return std::sin(v) * v; });
    double sum = std::accumulate(y.begin(), y.end(), 0.0);
    return sum * std::inner_product(y.begin(), y.end(), x, 1.0);
}
int main() { CHECK_GRADIENT(f, 5); return failures(); }
