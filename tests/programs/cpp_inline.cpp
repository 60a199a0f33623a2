// Functions that each file may define anew: inline, templates, members.
#include "selfcheck.h"
inline double square(double x) { return 2 * x * x; }
template <class T> T cube(T x) { return x * x * x; }
struct shape { static double area(double r) { return 3 * r * r; } };
int main()
{
    expect("inline", 0, __enzyme_autodiff((void *)square, 2.0), 8);
    expect("template", 0, __enzyme_autodiff((void *)cube<double>, 2.0), 12);
    expect("member", 0, __enzyme_autodiff((void *)shape::area, 2.0), 12);
    return failures();
}
