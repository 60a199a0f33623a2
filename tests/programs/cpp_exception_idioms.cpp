// Idioms of exceptions: constructors that throw, function-try-blocks, nested handlers, loops left and gone on with, guards.
#include "selfcheck.h"
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>
static int alive;
struct Part {
    std::unique_ptr<double> value;
    explicit Part(double x) : value(new double(x * x))
    {
        if (x > 1.15)
            throw std::out_of_range("part");
        alive++;
    }
    Part(Part &&other) noexcept : value(std::move(other.value)) { alive++; }
    ~Part() { alive--; }
};
struct Whole {
    Part first, second;
    std::vector<double> rest;
    Whole(double a, double b) try : first(a), second(b), rest(3, a *b) {
        if (a * b > 0.9)
            throw std::runtime_error("whole");
    } catch (const std::out_of_range &) {
        throw std::runtime_error("in a member");
    }
    double sum() const { return *first.value + 2 * *second.value + rest[1]; }
};
__attribute__((noinline)) static double built(double a, double b)
{
    Whole whole(a, b);
    return whole.sum();
}
static double constructors(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        try {
            sum += built(x[i], x[(i + 1) % n]);
        } catch (const std::runtime_error &) {
            sum += x[i] * x[i] * x[i];
        }
    return sum;
}
struct Guard {
    double *at, old;
    Guard(double *p, double v) : at(p), old(*p) { *p = v; }
    ~Guard() { *at = old; }
};
__attribute__((noinline)) static double guarded(double *state, double x)
{
    Guard guard(state, *state * x);
    if (x > 1.1)
        throw 1;
    return *state * *state;
}
static double guards(const double *x, int n)
{
    double state = x[0], sum = 0;
    for (int i = 0; i < n; i++) {
        try {
            sum += guarded(&state, x[i]);
        } catch (int) {
            sum += state * x[i];
            if (i % 2)
                continue;
            state *= 1.5;
        }
        state += x[i];
    }
    return sum + state;
}
__attribute__((noinline)) static std::vector<double> powers(double x, int n)
{
    std::vector<double> v;
    for (int i = 0; i < n; i++) {
        v.push_back(i ? v.back() * x : 1);
        if (v.back() > 1.9)
            throw std::length_error("powers");
    }
    return v;
}
static std::optional<double> last(double x, int n)
{
    try {
        std::vector<double> v = powers(x, n);
        try {
            if (v.back() < 0.05)
                throw 2.0;
        } catch (double) {
            return v.back() * 3;
        }
        return v.back();
    } catch (const std::exception &) {
    }
    return std::nullopt;
}
static double nested(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        std::vector<double> kept(2, x[i]);
        auto found = last(x[i], 5);
        if (!found) {
            sum += kept[0];
            continue;
        }
        sum += *found * kept[1];
        if (sum > 50)
            break;
    }
    return sum;
}
static double safe(double x) noexcept
{
    std::vector<double> v(2, x);
    return v[0] * v[1];
}
static double without(const double *x, int n)
{
    double sum = 1;
    for (int i = 0; i < n; i++)
        sum *= 1 + safe(x[i]);
    return sum;
}
int main()
{
    CHECK_GRADIENT(constructors, 6);
    CHECK_GRADIENT(guards, 6);
    CHECK_GRADIENT(nested, 7);
    CHECK_GRADIENT(without, 4);
    expect("alive", 0, alive, 0);
    return failures();
}
