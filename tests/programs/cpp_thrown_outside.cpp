// What was caught outside the derivative is thrown again inside it, by a function of its own; std::exception as a virtual base, asked what().
#include "selfcheck.h"
#include <exception>
#include <functional>
struct Mine : virtual std::exception {
    double w;
    Mine(double w) : w(w) {}
    const char *what() const noexcept override { return "mine"; }
};
struct More : Mine {
    More(double w) : Mine(2 * w) {}
    const char *what() const noexcept override { return "much more"; }
};
__attribute__((noinline)) static double again(const double *x, int n)
{
    if (n > 2)
        throw;
    return x[0] * x[1];
}
static double caught_inside(const double *x, int n)
{
    try {
        return again(x, n) * x[0];
    } catch (int k) {
        return x[1] * x[1] * k;
    }
}
static double passed_on(const double *x, int n) { return again(x, n) * x[1]; }
__attribute__((noinline)) static double risky(const double *x, int n)
{
    double t = sin(x[0]);
    if (n == 2)
        throw Mine(x[1] * t);
    if (n == 3)
        throw More(x[1] * t);
    return x[0] * x[1] * t;
}
static double told(const double *x, int n)
{
    std::function<double(double)> q = [x, n](double u) { return u * risky(x, n); };
    double s = x[0];
    try {
        s *= q(s);
    } catch (const Mine &m) {
        s *= m.w * strlen(m.what());
    } catch (const std::exception &e) {
        s *= x[1] * strlen(e.what());
    }
    return s;
}
int main()
{
    double x[3] = {0.5, 0.7, 0.9}, d[3] = {0};
    __enzyme_autodiff_void((void *)caught_inside, enzyme_dup, x, d, enzyme_const, 1);
    expect("nothing thrown", 0, d[0], 2 * x[0] * x[1]);
    clear(d, 3);
    try {
        throw 3;
    } catch (int) {
        __enzyme_autodiff_void((void *)caught_inside, enzyme_dup, x, d, enzyme_const, 5);
    }
    expect("thrown again", 0, d[0], 0);
    expect("thrown again", 1, d[1], 6 * x[1]);
    int caught = 0;
    for (int i = 0; i < 100; i++)
        try {
            try {
                throw 3;
            } catch (int) {
                __enzyme_autodiff_void((void *)passed_on, enzyme_dup, x, d, enzyme_const, 5);
            }
        } catch (int k) {
            caught += k;
        }
    expect("passed on", 0, caught, 300);
    CHECK_GRADIENT(told, 2);
    CHECK_GRADIENT(told, 3);
    CHECK_GRADIENT(told, 4);
    return failures();
}
