// Expression templates of one's own, by CRTP; a solver whose right-hand side is that of the derived class.
#include "selfcheck.h"
#include <array>
#include <vector>
template <class E> struct Expression {
    const E &self() const { return static_cast<const E &>(*this); }
};
struct Vector : Expression<Vector> {
    std::vector<double> numbers;
    explicit Vector(const double *x, int n) : numbers(x, x + n) {}
    template <class E> Vector(const Expression<E> &e) : numbers(e.self().size())
    {
        for (int i = 0; i < size(); i++)
            numbers[i] = e.self()[i];
    }
    template <class E> Vector &operator+=(const Expression<E> &e) { return *this = *this + e; }
    double operator[](int i) const { return numbers[i]; }
    int size() const { return (int)numbers.size(); }
};
template <class A, class B, class Operation> struct Binary : Expression<Binary<A, B, Operation>> {
    const A &a;
    const B &b;
    Binary(const A &a, const B &b) : a(a), b(b) {}
    double operator[](int i) const { return Operation{}(a[i], b[i]); }
    int size() const { return a.size(); }
};
template <class A, class B> auto operator+(const Expression<A> &a, const Expression<B> &b)
{
    return Binary<A, B, std::plus<double>>(a.self(), b.self());
}
template <class A, class B> auto operator*(const Expression<A> &a, const Expression<B> &b)
{
    return Binary<A, B, std::multiplies<double>>(a.self(), b.self());
}
template <class E> static double sum(const Expression<E> &e)
{
    double s = 0;
    for (int i = 0; i < e.self().size(); i++)
        s += e.self()[i];
    return s;
}
static double expressions(const double *x, int n)
{
    Vector a(x, n / 2), b(x + n / 2, n / 2), c = a * b + a;
    c += c * b;
    return sum(c * c + a * b * c);
}

template <class Derived> struct Solver {
    template <std::size_t N> std::array<double, N> step(std::array<double, N> y, double h) const
    {
        auto &own = static_cast<const Derived &>(*this);
        auto k = own.slope(y), middle = y;
        for (std::size_t i = 0; i < N; i++)
            middle[i] += h / 2 * k[i];
        k = own.slope(middle);
        for (std::size_t i = 0; i < N; i++)
            y[i] += h * k[i];
        return y;
    }
};
struct Lorenz : Solver<Lorenz> {
    double s, r, b;
    Lorenz(double s, double r, double b) : s(s), r(r), b(b) {}
    std::array<double, 3> slope(const std::array<double, 3> &y) const
    {
        return {s * (y[1] - y[0]), y[0] * (r - y[2]) - y[1], y[0] * y[1] - b * y[2]};
    }
};
static double trajectory(const double *x, int)
{
    Lorenz l{x[0], x[1], x[2]};
    std::array<double, 3> y{x[3], x[4], x[5]};
    for (int i = 0; i < 10; i++)
        y = l.step(y, .02);
    auto [a, b, c] = y;
    return a * b + c;
}
int main()
{
    CHECK_GRADIENT(expressions, 6);
    CHECK_GRADIENT(trajectory, 6);
    return failures();
}
