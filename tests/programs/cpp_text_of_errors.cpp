/* Errors whose text has an active number in it: what throws returns nothing, and so has no derivative. */
#include "selfcheck.h"
#include <iomanip>
#include <sstream>
#include <stdexcept>
#include <string>
template <class T> __attribute__((noinline)) std::string shown(const T &value)
{
    std::stringstream text;
    text << std::setprecision(17) << value;
    return text.str();
}
template <class E, class T> __attribute__((noinline)) void raise(const char *function, const T &value)
{
    std::string message("error in function ");
    message += function;
    message += ": " + shown(value);
    throw E(message);
}
static double root(double v, int *failed)
{
    if (v < 0) {
        ++*failed;
        raise<std::domain_error>("root", v * v);
    }
    return std::sqrt(v);
}
static double f(const double *x, int n)
{
    double sum = 0;
    int failed = 0;
    for (int i = 0; i < n; i++)
        sum += root(x[i], &failed) * x[(i + 1) % n] + failed;
    return sum;
}
int main()
{
    CHECK_GRADIENT(f, 4);
    double x[2] = {3, -1}, d[2] = {0, 0};
    try {
        __enzyme_autodiff_void((void *)f, enzyme_dup, x, d, enzyme_const, 2);
        expect("it is thrown", 0, 0, 1);
    } catch (const std::domain_error &e) {
        expect("what is thrown", 0, std::string(e.what()).compare("error in function root: 1"), 0);
    }
    return failures();
}
