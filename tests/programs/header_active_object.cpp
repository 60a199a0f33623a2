// A function object with numbers of its own, and a shadow for them.
#include "selfcheck.h"
#include <enzyme/enzyme>
struct line { double a, b; double operator()(double x) const { return a * x * x + b * x; } };
int main()
{
    using namespace enzyme;
    line l{2, 3}, d{0, 0};
    Duplicated<line &> both(l, d);
    auto call = [](const line &f, double x) { return f(x); };
    auto [in] = autodiff<Reverse>(call, Duplicated<line &>(l, d), Active{5.0});
    expect("x", 0, get<0>(in), 2 * 2 * 5 + 3);
    expect("a", 0, d.a, 25);
    expect("b", 0, d.b, 5);
    Duplicated<line> object(l, line{0, 0});
    auto [again] = autodiff<Reverse>(object, Active{5.0});
    expect("x", 1, get<0>(again), 23);
    expect("a", 1, object.shadow.a, 25);
    return failures();
}
