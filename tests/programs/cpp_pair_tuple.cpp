// std::pair, std::tuple, structured bindings.
#include "selfcheck.h"
#include <tuple>
#include <utility>
static std::pair<double, double> polar(double x, double y) { return {std::hypot(x, y), std::atan2(y, x)}; }
static std::tuple<double, int, double> three(double x) { return {x * x, 2, std::sin(x)}; }
static double f(const double *x, int n)
{
    auto [r, phi] = polar(x[0], x[1]);
    auto [a, k, b] = three(x[n - 1]);
    return r * std::cos(2 * phi) + k * a * b;
}
int main() { CHECK_GRADIENT(f, 3); return failures(); }
