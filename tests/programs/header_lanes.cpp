// Several tangents over one run.
#include "selfcheck.h"
#include <enzyme/enzyme>
static double g(double a, double b) { return a * a * std::sin(b); }
static void h(const double *x, double *y) { y[0] = x[0] * x[1]; y[1] = x[0] / x[1]; }
int main()
{
    using namespace enzyme;
    auto [t] = autodiff<Forward>(g, DuplicatedLanes<double, 2>(2.0, {1, 0}), DuplicatedLanes<double, 2>(0.5, {0, 1}));
    expect("by a", 0, t[0], 4 * std::sin(0.5));
    expect("by b", 1, t[1], 4 * std::cos(0.5));
    auto [v, u] = autodiff<Forward, Duplicated<double>>(g, DuplicatedLanes<double, 3>(2.0, {1, 2, 3}), Const{0.5});
    expect("value", 0, v, g(2, 0.5));
    expect("third", 2, u[2], 12 * std::sin(0.5));
    double x[2] = {3, 2}, one[2] = {1, 0}, two[2] = {0, 1}, y[2], d0[2] = {0}, d1[2] = {0};
    autodiff<Forward>(h, DuplicatedLanes<double *, 2>(x, {one, two}), DuplicatedLanes<double *, 2>(y, {d0, d1}));
    expect("memory", 0, d0[1], 0.5);
    expect("memory", 1, d1[0], 3);
    double s0[2] = {1, 0}, s1[2] = {0, 1}, r0[2] = {0}, r1[2] = {0};
    autodiff<Reverse>(h, DuplicatedLanes<double *, 2>(x, {r0, r1}), DuplicatedLanes<double *, 2>(y, {s0, s1}));
    expect("reverse", 0, r0[1], 3);
    expect("reverse", 1, r1[0], 0.5);
    return failures();
}
