// std::map: a tree with integers as keys.
#include "selfcheck.h"
#include <map>
static double f(const double *x, int n)
{
    std::map<int, double> m;
    for (int i = 0; i < n; i++)
        m[(5 * i) % 4] += x[i] * x[i];
    double sum = 0;
    for (auto &p : m)
        sum += p.second * p.second * (p.first + 1);
    return sum;
}
int main() { CHECK_GRADIENT(f, 5); return failures(); }
