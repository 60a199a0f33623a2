// std::variant and std::optional.
#include "selfcheck.h"
#include <optional>
#include <variant>
static std::optional<double> maybe(double x) { return x > 1 ? std::optional<double>(x * x) : std::nullopt; }
static double f(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        std::variant<int, double> v = 3;
        if (i % 2)
            v = x[i] * 2;
        if (auto *d = std::get_if<double>(&v))
            sum += *d * x[0];
        sum += maybe(x[i]).value_or(0.5);
    }
    return sum;
}
int main() { CHECK_GRADIENT(f, 6); return failures(); }
