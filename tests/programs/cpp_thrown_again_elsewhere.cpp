// `throw;` in functions that do not catch themselves: what their callers have caught is sorted, changed or let go on.
#include "selfcheck.h"
#include <stdexcept>
struct Small { double v; };
struct Large { double w, u; ~Large() { u = 0; } };
__attribute__((noinline)) static double sorted(double x)
{
    try {
        throw;
    } catch (Small &e) {
        e.v *= 2;
        return e.v * x;
    } catch (Large &e) {
        return e.w * e.u * x;
    } catch (const std::runtime_error &) {
        return x * x * x;
    }
}
__attribute__((noinline)) static void let_go(double x)
{
    if (x > 0)
        throw;
}
__attribute__((noinline)) static void changed(double x)
{
    try {
        let_go(x);
    } catch (Small &e) {
        e.v += x;
        let_go(x);
    }
}
__attribute__((noinline)) static double risky(double x)
{
    if (x > 3)
        throw std::runtime_error("three");
    if (x > 2)
        throw Small{x * x};
    if (x > 1)
        throw Large{x, 3 * x};
    return x * 5;
}
static double in_a_function(double x)
{
    try {
        return risky(x);
    } catch (...) {
        return sorted(x);
    }
}
static double twice(double x)
{
    try {
        return risky(x);
    } catch (...) {
        double first = sorted(x);
        return first * sorted(x * x);
    }
}
static double nested(double x)
{
    try {
        try {
            return risky(x);
        } catch (...) {
            double inner;
            try {
                inner = risky(x - 1);
            } catch (...) {
                inner = sorted(x);
            }
            changed(x);
            return inner;
        }
    } catch (const Small &e) {
        return e.v * e.v;
    } catch (const Large &e) {
        return e.u * x;
    } catch (...) {
        return 1 / x;
    }
}
__attribute__((noinline)) static double settled(double x) noexcept
{
    try {
        throw;
    } catch (Small &e) {
        return e.v *= x;
    } catch (...) {
        return x;
    }
}
static double without(double x)
{
    try {
        return risky(x);
    } catch (...) {
        return settled(x) * settled(2 * x);
    }
}
static double several(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += in_a_function(3 * x[i]) * nested(2.5 * x[i]) + twice(x[i]);
    return sum;
}
int main()
{
    for (double x = 3.5; x > 0; x -= 1) {
        CHECK_SLOPE(in_a_function, x);
        CHECK_SLOPE(twice, x);
        CHECK_SLOPE(nested, x);
        CHECK_SLOPE(without, x);
    }
    CHECK_GRADIENT(several, 7);
    return failures();
}
