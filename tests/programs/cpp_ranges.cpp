// Pipelines of std::views, algorithms of std::ranges with projections.
#include "selfcheck.h"
#include <algorithm>
#include <ranges>
#include <vector>
static double f(const double *x, int n)
{
    std::vector<double> v(x, x + n);
    double s = 0;
    auto square = [](double t) { return t * t; };
    for (double y : v | std::views::transform(square) | std::views::filter([](double t) { return t > .5; }) | std::views::take(4))
        s += std::log(y);
    for (int k = 1; double y : v | std::views::reverse | std::views::drop(1))
        s += y * y * k++;
    for (int i : std::views::iota(0, n))
        s += v[i] * i;
    std::ranges::sort(v, std::ranges::greater{}, square);
    return s + v[0] * v[n - 1] * *std::ranges::max_element(v);
}
int main()
{
    CHECK_GRADIENT(f, 5);
    return failures();
}
