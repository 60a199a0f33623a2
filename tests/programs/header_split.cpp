// The two sweeps apart: two alive at once, run back in the order in which they began.
#include "selfcheck.h"
#include <complex>
#include <enzyme/enzyme>
struct Pair { double a, b; };
static double spread(Pair p, double s, std::complex<double> z) { return s * p.a * p.b * p.b + std::norm(z * z) * s; }
static void squares(const double *x, double *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = x[i] * x[i] * x[0];
}
static double product(double a, double b) { return a * a * b; }
int main()
{
    using namespace enzyme;
    auto g = [](double a, double b) { return a * std::exp(a * b); };
    auto one = split(g, Active{0.5}, Active{2.0});
    auto two = split(g, Active{1.5}, Const{1.0});
    expect("value", 0, one.value, g(0.5, 2));
    auto d = one.reverse(3);
    expect("a", 0, get<0>(d), 3 * (std::exp(1) + 0.5 * 2 * std::exp(1)));
    expect("b", 0, get<1>(d), 3 * 0.25 * std::exp(1));
    expect("a alone", 1, get<0>(two.reverse(1)), std::exp(1.5) + 1.5 * std::exp(1.5));
    double x[2] = {2, 3}, dx[2] = {0}, y[2], dy[2] = {0};
    function<squares> h;
    auto memory = split(h, Duplicated{x, dx}, Duplicated{y, dy}, Const{2});
    dy[1] = 1;
    memory.reverse();
    expect("x0", 0, dx[0], 9);
    expect("x1", 1, dx[1], 12);
    auto given = split(function<product>{}, Active{2.0}, Active{3.0});
    expect("of a function", 0, get<1>(given.reverse(5)), 5 * 4);
    auto whole = split(function<spread>{}, Active{Pair{2, 3}}, Active{0.5}, Active{std::complex<double>(1, 2)});
    auto objects = whole.reverse(2);
    expect("value", 1, whole.value, 0.5 * 18 + 12.5);
    expect("struct", 0, get<0>(objects).a, 2 * 0.5 * 9);
    expect("struct", 1, get<0>(objects).b, 2 * 0.5 * 12);
    expect("beside", 0, get<1>(objects), 2 * (18 + 25));
    expect("complex", 0, get<2>(objects).real(), 2 * 10);
    expect("complex", 1, get<2>(objects).imag(), 2 * 20);
    auto held = split(function<spread>{}, Const{Pair{2, 3}}, Active{0.5}, Active{std::complex<double>(1, 2)});
    expect("beside a constant", 0, get<0>(held.reverse(1)), 18 + 25);
    static_assert(std::is_move_constructible_v<decltype(one)> && !std::is_copy_constructible_v<decltype(held)>);
    return failures();
}
