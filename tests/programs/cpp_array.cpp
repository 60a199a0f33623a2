// std::array by value and by reference.
#include "selfcheck.h"
#include <array>
using vec = std::array<double, 3>;
static vec cross(const vec &a, const vec &b)
{
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
static double f(const double *x, int n)
{
    vec a{x[0], x[1], x[2]}, b{x[n - 1], x[n - 2], x[n - 3]};
    vec c = cross(a, b), d = cross(c, a);
    return c[0] * d[1] + d[2];
}
int main() { CHECK_GRADIENT(f, 5); return failures(); }
