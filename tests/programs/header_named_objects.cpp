// Duplicated{…} of objects that have names: adjoints reach the objects' own shadows; markers declared again as C's.
#include <enzyme/enzyme>

#include "selfcheck.h"
#include <complex>
#include <vector>
struct line { double a, b; double operator()(double x) const { return a * x * x + b * a; } };
static double sum(const std::vector<double> &v) { double s = 0; for (double e : v) s += e * e * e; return s; }
static void scaled(const std::vector<double> &x, std::vector<double> &y) { for (std::size_t i = 0; i < x.size(); i++) y[i] = 3 * x[i]; }
static double apart(std::complex<double> z) { return z.real() * z.imag(); }
int main()
{
    using namespace enzyme;
    line m{2, 3}, d{0, 0};
    auto [in, value] = autodiff<ReverseWithPrimal>(Duplicated{m, d}, Active{0.5});
    expect("by the argument", 0, get<0>(in), 2);
    expect("value", 0, value, 6.5);
    expect("by members", 0, d.a, 3.25);
    expect("by members", 1, d.b, 2);
    const std::vector<double> x{1, 2};
    std::vector<double> dx{0, 0}, y{0, 0}, dy{1, 10};
    autodiff<Reverse>(sum, Duplicated{x, dx});
    expect("of a constant vector", 1, dx[1], 12);
    autodiff<Reverse>(scaled, Duplicated{x, dx}, DuplicatedNoNeed{y, dy});
    expect("of a result", 1, dx[1], 42);
    expect("seed", 1, dy[1], 0);
    autodiff<Forward>(scaled, Duplicated{x, dx}, Duplicated{y, dy});
    expect("tangent", 1, dy[1], 126);
    Duplicated<std::vector<double>> kept(y, {0, 0});
    autodiff<Reverse>(sum, kept);
    expect("in the wrapper", 0, kept.shadow[0], 3 * y[0] * y[0]);
    std::complex<double> z(2, 3), dz(0, 0);
    autodiff<Reverse>(function<apart>{}, Duplicated{z, dz});
    expect("complex", 0, dz.real(), 3);
    expect("complex", 1, dz.imag(), 2);
    return failures();
}
