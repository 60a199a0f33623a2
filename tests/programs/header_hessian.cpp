// Second derivatives of a function, of its address, and of a lambda that captures.
#include "selfcheck.h"
#include <enzyme/enzyme>
static double g(const std::array<double, 2> &x) { return x[0] * x[0] * std::sin(x[1]); }
int main()
{
    auto h = enzyme::hessian(enzyme::function<g>{}, std::array<double, 2>{1.5, 0.7});
    expect("00", 0, h[0][0], 2 * std::sin(0.7));
    expect("01", 1, h[0][1], 3 * std::cos(0.7));
    expect("10", 2, h[1][0], 3 * std::cos(0.7));
    expect("11", 3, h[1][1], -1.5 * 1.5 * std::sin(0.7));
    double k = 2;
    auto scaled = enzyme::hessian([&k](const std::array<double, 2> &x) { return k * g(x); }, std::array<double, 2>{1.5, 0.7});
    expect("scaled", 0, scaled[0][1], 6 * std::cos(0.7));
    expect("address", 0, enzyme::hessian(g, std::array<double, 2>{1.5, 0.7})[0][1], 3 * std::cos(0.7));
    return failures();
}
