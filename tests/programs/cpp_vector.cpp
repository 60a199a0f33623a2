// std::vector grows with push_back.
#include "selfcheck.h"
#include <vector>
static double f(const double *x, int n)
{
    std::vector<double> v;
    for (int i = 0; i < n; i++)
        v.push_back(x[i] * x[i]);
    double sum = 0;
    for (std::size_t i = 0; i < v.size(); i++)
        sum += v[i] * v[v.size() - 1 - i];
    return sum;
}
int main() { CHECK_GRADIENT(f, 6); return failures(); }
