// Second derivatives of a function without state.
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
    return failures();
}
