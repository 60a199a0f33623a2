// A function that is asked about is no target of another's pointers: of its type, it writes to what is constant there.
#include "selfcheck.h"
#include <enzyme/enzyme>
static double squared_in_place(double &x, const double &y)
{
    x *= y;
    return x * x;
}
int main()
{
    using namespace enzyme;
    std::function<double(double)> cube = [](double x) { return x * x * x; };
    expect("stored", 0, get<0>(get<0>(autodiff<Reverse>(cube, Active{2.0}))), 12);
    double x = 2, dx = 0, y = 3, dy = 0;
    autodiff<Reverse>(squared_in_place, Duplicated<double &>(x, dx), Duplicated<const double &>(y, dy));
    expect("in place", 0, dx, 2 * 6 * 3);
    expect("in place", 1, dy, 2 * 6 * 2);
    return failures();
}
