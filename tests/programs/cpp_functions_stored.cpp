// std::function: captures of a double, of two, of pointers, by value and reference; copied, moved, in a vector, in a map
#include "selfcheck.h"
#include <functional>
#include <vector>
#include <utility>
static double f(const double *x, int n)
{
    double a = x[0], b = x[1];
    std::vector<std::function<double(double)>> g;
    g.push_back([a](double v) { return a * v + v * v; });
    g.push_back([&b](double v) { return b * v; });
    g.push_back([x, n](double v) { return x[n - 1] * v; });
    g.push_back([a, b](double v) { return a * b * v; });
    std::function<double(double)> h = g[0];
    h = g[3];
    std::swap(h, g[1]);
    double sum = h(x[2]);
    for (int i = 0; i < n; i++)
        for (auto &k : g)
            sum += k(x[i]) * (i + 1);
    return sum;
}
int main() { CHECK_GRADIENT(f, 4); return failures(); }
