// Static members and namespaces' variables that are constant.
#include "selfcheck.h"
namespace physics { constexpr double g = 9.81; double rate = 0.5; }
struct body {
    static const double factors[3];
    double mass;
    double energy(double v) const { return mass * v * v * factors[1] + mass * physics::g * physics::rate; }
};
const double body::factors[3] = {1, 0.5, 0.25};
static double f(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i + 1 < n; i++)
        sum += body{x[i]}.energy(x[i + 1]);
    return sum;
}
int main() { CHECK_GRADIENT(f, 4); return failures(); }
