// std::variant of doubles and integers, visited, in a vector; std::optional beside it.
#include "selfcheck.h"
#include <optional>
#include <variant>
#include <vector>
using value = std::variant<double, int, bool>;
static double number(const value &v)
{
    return std::visit([](auto held) { return 0.5 * double(held); }, v);
}
static std::optional<value> made(const double *x, int i)
{
    if (i % 4 == 0)
        return value(x[i] * x[i]);
    if (i % 4 == 1)
        return value(i);
    if (i % 4 == 2)
        return value(i > 3);
    return std::nullopt;
}
static double f(const double *x, int n)
{
    std::vector<value> all;
    for (int i = 0; i < n; i++)
        if (auto v = made(x, i))
            all.push_back(*v);
    all.front() = x[1] * x[2];
    double sum = 0;
    for (auto &v : all)
        sum += number(v) * x[0];
    return sum;
}
int main() { CHECK_GRADIENT(f, 6); return failures(); }
