// enzyme::autodiff in forward mode: tangents, with and without the value.
#include "selfcheck.h"
#include <enzyme/enzyme>
static double g(double a, double b) { return a * std::exp(b); }
static void twice(const double *x, double *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = 2 * x[i] * x[i];
}
int main()
{
    using namespace enzyme;
    auto [t] = autodiff<Forward>(g, Duplicated{2.0, 1.0}, Duplicated{0.5, 10.0});
    expect("tangent", 0, t, std::exp(0.5) + 20 * std::exp(0.5));
    auto [v, s] = autodiff<Forward, Duplicated<double>>(g, Duplicated{2.0, 1.0}, Const{0.5});
    expect("value", 0, v, g(2, 0.5));
    expect("tangent", 1, s, std::exp(0.5));
    auto [w] = autodiff<Forward, DuplicatedNoNeed<double>>(g, Const{2.0}, Duplicated{0.5, 1.0});
    expect("tangent", 2, w, g(2, 0.5));
    double x[2] = {1, 2}, dx[2] = {1, 1}, y[2], dy[2] = {0, 0};
    autodiff<Forward>(twice, Duplicated{x, dx}, Duplicated{y, dy}, Const{2});
    expect("memory", 0, y[1], 8);
    expect("memory", 1, dy[1], 8);
    return failures();
}
