// Lambdas, function objects, overloads, const and generic ones.
#include "selfcheck.h"
#include <enzyme/enzyme>
struct scale { double k; double operator()(double x) const { return k * x * x; } };
static double over(double x) { return x * x; }
static double over(double x, double y) { return x * y; }
int main()
{
    using namespace enzyme;
    double k = 3;
    auto by_reference = [&k](double x) { return k * x * x * x; };
    auto generic = [](auto x, auto y) { return x * y * y; };
    const scale s{5};
    expect("lambda", 0, get<0>(get<0>(autodiff<Reverse>(by_reference, Active{2.0}))), 36);
    expect("generic", 0, get<1>(get<0>(autodiff<Reverse>(generic, Active{2.0}, Active{3.0}))), 12);
    expect("object", 0, get<0>(get<0>(autodiff<Reverse>(s, Active{2.0}))), 20);
    expect("temporary", 0, get<0>(autodiff<Forward>(scale{2}, Duplicated{2.0, 1.0})), 8);
    expect("constant", 0, get<0>(get<0>(autodiff<Reverse>(Const<const scale &>(s), Active{2.0}))), 20);
    expect("overload", 1, get<0>(get<0>(autodiff<Reverse>((double (*)(double))over, Active{2.0}))), 4);
    expect("overload", 2, get<0>(get<0>(autodiff<Reverse>((double (*)(double, double))over, Active{2.0}, Const{7.0}))), 7);
    expect("function<>", 0, get<0>(get<0>(autodiff<Reverse>(function<static_cast<double (*)(double)>(over)>{}, Active{4.0}))), 8);
    return failures();
}
