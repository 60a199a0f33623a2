// Functions that take references: to numbers, to containers, to what they change.
#include "selfcheck.h"
#include <enzyme/enzyme>
#include <vector>
static double cube(const double &x) { return x * x * x; }
static double sum(const std::vector<double> &v)
{
    double s = 0;
    for (double e : v)
        s += e * e;
    return s;
}
static void square(double &x) { x *= x; }
int main()
{
    using namespace enzyme;
    auto [in, value] = autodiff<ReverseWithPrimal>(cube, Active{2.0});
    expect("const reference", 0, get<0>(in), 12);
    expect("value", 0, value, 8);
    std::vector<double> v{1, 2, 3}, d(3);
    autodiff<Reverse>(sum, Duplicated<std::vector<double> &>(v, d));
    expect("vector", 2, d[2], 6);
    double x = 3, dx = 1;
    autodiff<Reverse>(square, Duplicated<double &>(x, dx));
    expect("changed", 0, x, 9);
    expect("adjoint", 0, dx, 6);
    x = 3, dx = 1;
    autodiff<Forward>(square, Duplicated<double &>(x, dx));
    expect("tangent", 0, dx, 6);
    return failures();
}
