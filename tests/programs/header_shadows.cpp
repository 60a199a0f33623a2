// Every mode with arguments that bring a shadow: references, arrays, pointers, containers.
#include "selfcheck.h"
#include <array>
#include <enzyme/enzyme>
#include <vector>
using namespace enzyme;

struct Pair { double a, b; };
using Array = std::array<double, 2>;
using Vector = std::vector<double>;

static double f(double a, double b, double s) { return s * a * a * b; }
static double object_reference(const Pair &p, const double &s) { return f(p.a, p.b, s); }
static double array_reference(const Array &p, double s) { return f(p[0], p[1], s); }
static double vector(const Vector &p, double s) { return f(p[0], p[1], s); }
static double pointer(const double *p, double s) { return f(p[0], p[1], s); }
static double reference(Pair &p, double s) { p.a *= p.a; return s * p.a * p.b; } // what it reads, it changes

constexpr double A = 2, B = 3, S = 5, FA = 2 * A * B * S, FB = A * A * S, FS = A * A * B;

template <class P> double first(const P &p) { return p[0]; }
template <> double first(const Pair &p) { return p.a; }
template <class P> double second(const P &p) { return p[1]; }
template <> double second(const Pair &p) { return p.b; }

// With a shadow that is given: D is how it travels.
template <auto g, class D, class P> void shadowed(const char *name, P &value, P &shadow, D p, D d)
{
    auto reset = [&] { value = P{A, B}, shadow = P{0, 0}; };
    reset();
    auto [in] = autodiff<Reverse>(function<g>{}, Duplicated<D>(p, d), Active{S});
    expect(name, 0, first(shadow), FA);
    expect(name, 1, second(shadow), FB);
    expect(name, 2, get<0>(in), FS);
    reset();
    auto [again, result] = autodiff<ReverseWithPrimal>(function<g>{}, DuplicatedNoNeed<D>(p, d), Const{S});
    (void)again;
    expect(name, 3, first(shadow), FA);
    expect(name, 4, result, f(A, B, S));
    reset();
    auto apart = split(function<g>{}, Duplicated<D>(p, d), Active{S});
    expect(name, 5, apart.value, f(A, B, S));
    auto back = apart.reverse(2);
    expect(name, 6, second(shadow), 2 * FB);
    expect(name, 7, get<0>(back), 2 * FS);
    reset();
    shadow = P{1, 10};
    auto [tangent] = autodiff<Forward>(function<g>{}, Duplicated<D>(p, d), Duplicated{S, 100.});
    expect(name, 8, tangent, FA + 10 * FB + 100 * FS);
    reset();
    shadow = P{1, 10};
    auto [primal, t] = autodiff<Forward, Duplicated<double>>(function<g>{}, Duplicated<D>(p, d), Const{S});
    expect(name, 9, primal, f(A, B, S));
    expect(name, 10, t, FA + 10 * FB);
}

int main()
{
    Pair p, dp;
    shadowed<object_reference, Pair &>("reference", p, dp, p, dp);
    shadowed<reference, Pair &>("changed through a reference", p, dp, p, dp);
    Array a, da;
    shadowed<array_reference, Array &>("array", a, da, a, da);
    shadowed<pointer, double *>("pointer", a, da, a.data(), da.data());
    Vector v{A, B}, dv{0, 0};
    shadowed<vector, Vector &>("vector", v, dv, v, dv);
    return failures();
}
