// A list of objects of several classes behind unique_ptr.
#include "selfcheck.h"
#include <memory>
#include <vector>
struct term { virtual double value(double x) const = 0; virtual ~term() = default; };
struct power : term { int n; explicit power(int n) : n(n) {} double value(double x) const override { return std::pow(x, n); } };
struct scaled : term { double by; explicit scaled(double b) : by(b) {} double value(double x) const override { return by * x; } };
static double f(const double *x, int n)
{
    std::vector<std::unique_ptr<term>> terms;
    for (int i = 0; i < n; i++)
        if (i % 2)
            terms.push_back(std::make_unique<power>(i + 1));
        else
            terms.push_back(std::make_unique<scaled>(x[i]));
    double sum = 0;
    for (auto &t : terms)
        sum += t->value(x[0]) * t->value(x[n - 1]);
    return sum;
}
int main() { CHECK_GRADIENT(f, 4); return failures(); }
