// enzyme::autodiff in reverse mode: several arguments, with and without the value.
#include "selfcheck.h"
#include <enzyme/enzyme>
static double g(double a, float b, int n, double c) { return a * b * n + std::sin(b * c); }
int main()
{
    using namespace enzyme;
    double a = 1.2, c = 0.4;
    float b = 0.5f;
    auto [adjoints] = autodiff<Reverse>(g, Active{a}, Active{b}, Const{3}, Active{c});
    expect("a", 0, get<0>(adjoints), b * 3);
    expect_within("b", 1, get<1>(adjoints), a * 3 + c * std::cos(b * c), 1e-6);
    expect("c", 2, get<2>(adjoints), b * std::cos(b * c));
    auto both = autodiff<ReverseWithPrimal>(g, Active{a}, Const{b}, Const{3}, Active{c});
    expect("value", 0, get<1>(both), g(a, b, 3, c));
    expect("a", 1, get<0>(get<0>(both)), b * 3);
    expect("c", 1, get<1>(get<0>(both)), b * std::cos(b * c));
    auto none = autodiff<ReverseWithPrimal>(g, Const{a}, Const{b}, Const{3}, Const{c});
    expect("value alone", 0, get<1>(none), g(a, b, 3, c));
    auto still = autodiff<Reverse, Const<double>>(g, Active{a}, Const{b}, Const{3}, Active{c});
    expect("a constant result", 0, get<0>(get<0>(still)), 0);
    auto other = autodiff<Reverse>(g, Active{1.5f}, Active{b}, Const{3}, Const{c}); // a float for a double
    expect("a float", 0, get<0>(get<0>(other)), b * 3);
    return failures();
}
