// Structs of numbers as Active arguments: their adjoints come back as structs, zero where nothing depends on a member.
#include "selfcheck.h"
#include <complex>
#include <enzyme/enzyme>
using namespace enzyme;

struct Model { // what its members are initialised with is no part of an adjoint
    double scale = 7;
    double weights[3] = {1, 1, 1};
    long count = 2;
};
struct Pair {
    double a, b;
};

double sum(Model m, double x)
{
    double s = 0;
    for (long i = 0; i < m.count; i++)
        s += m.weights[i] * x * m.scale;
    return s;
}
double product(const Pair &p, Pair q) { return p.a * p.a * q.b; }
double norm(std::complex<double> z) { return std::norm(z * z); }

int main()
{
    Model m{2, {3, 0.5, 1}, 2};
    auto [in] = autodiff<Reverse>(function<sum>{}, Active{m}, Active{1.5});
    Model d = get<0>(in);
    expect("x", 0, get<1>(in), 7);
    expect("scale", 0, d.scale, 3.5 * 1.5);
    expect("weights", 0, d.weights[0], 3);
    expect("weights", 1, d.weights[1], 3);
    expect("weights", 2, d.weights[2], 0);
    auto [pairs, value] = autodiff<ReverseWithPrimal>(function<product>{}, Active{Pair{2, 3}}, Active{Pair{4, 5}});
    expect("value", 0, value, 20);
    expect("p", 0, get<0>(pairs).a, 20);
    expect("p", 1, get<0>(pairs).b, 0);
    expect("q", 0, get<1>(pairs).a, 0);
    expect("q", 1, get<1>(pairs).b, 4);
    auto [complex] = autodiff<Reverse>(function<norm>{}, Active{std::complex<double>(1, 2)});
    expect("z", 0, get<0>(complex).real(), 20);
    expect("z", 1, get<0>(complex).imag(), 40);
    return failures();
}
