// A throw leaves the derivative and reaches the handler of its caller; the next derivative is right.
#include "selfcheck.h"
#include <cmath>
#include <stdexcept>
static double f(double x)
{
    if (x < 0)
        throw std::domain_error("negative");
    return x * std::sqrt(x);
}
int main()
{
    int caught = 0;
    for (int k = 0; k < 3; k++)
        try {
            __enzyme_autodiff((void *)f, k - 1.5);
        } catch (const std::domain_error &) {
            caught++;
        }
    expect("caught", 0, caught, 2);
    CHECK_SLOPE(f, 2.0);
    return failures();
}
