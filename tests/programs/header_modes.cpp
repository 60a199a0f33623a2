// Every mode with arguments that bring no shadow, by value and by reference, and with results in memory; lanes.
#include "selfcheck.h"
#include <array>
#include <enzyme/enzyme>
using namespace enzyme;

struct Pair { double a, b; };
using Array = std::array<double, 2>;

static double f(double a, double b, double s) { return s * a * a * b; }
static double number(double a, double b, double s) { return f(a, b, s); }
static double constant_reference(const double &a, double b, const double &s) { return f(a, b, s); }
static double object(Pair p, double s) { return f(p.a, p.b, s); }
static double object_reference(const Pair &p, const double &s) { return f(p.a, p.b, s); }
static double array(Array p, double s) { return f(p[0], p[1], s); }
static double array_reference(const Array &p, double s) { return f(p[0], p[1], s); }
static double pointer(const double *p, double s) { return f(p[0], p[1], s); }
static void into(const double *p, double s, double &to) { to = f(p[0], p[1], s); }

constexpr double A = 2, B = 3, S = 5, FA = 2 * A * B * S, FB = A * A * S, FS = A * A * B;

template <class P> double first(const P &p) { return p[0]; }
template <> double first(const Pair &p) { return p.a; }
template <class P> double second(const P &p) { return p[1]; }
template <> double second(const Pair &p) { return p.b; }

// By value or by constant reference, where an adjoint comes back.
template <auto g, class P> void returned(const char *name)
{
    Active<P> p(P{A, B});
    auto [in] = autodiff<Reverse>(function<g>{}, p, Active{S});
    expect(name, 0, first(get<0>(in)), FA);
    expect(name, 1, second(get<0>(in)), FB);
    expect(name, 2, get<1>(in), FS);
    auto [again, value] = autodiff<ReverseWithPrimal>(function<g>{}, p, Const{S});
    expect(name, 3, first(get<0>(again)), FA);
    expect(name, 4, value, f(A, B, S));
    auto apart = split(function<g>{}, p, Active{S});
    auto back = apart.reverse(2);
    expect(name, 5, first(get<0>(back)), 2 * FA);
    expect(name, 6, second(get<0>(back)), 2 * FB);
    expect(name, 7, get<1>(back), 2 * FS);
    auto [t] = autodiff<Forward>(function<g>{}, Duplicated<P>(P{A, B}, P{1, 10}), Duplicated{S, 100.});
    expect(name, 8, t, FA + 10 * FB + 100 * FS);
    auto [lanes] = autodiff<Forward>(function<g>{}, DuplicatedLanes<P, 2>(P{A, B}, {P{1, 10}, P{10, 1}}),
                                     DuplicatedLanes<double, 2>(S, {100, 0}));
    expect(name, 9, lanes[0], FA + 10 * FB + 100 * FS);
    expect(name, 10, lanes[1], 10 * FA + FB);
}

template <auto g> void numbers(const char *name)
{
    auto [in] = autodiff<Reverse>(function<g>{}, Active{A}, Const{B}, Active{S});
    expect(name, 0, get<0>(in), FA);
    expect(name, 1, get<1>(in), FS);
    auto [again, value] = autodiff<ReverseWithPrimal>(g, Const{A}, Active{B}, Const{S});
    expect(name, 2, get<0>(again), FB);
    expect(name, 3, value, f(A, B, S));
    auto apart = split(function<g>{}, Active{A}, Active{B}, Active{S});
    auto other = split(function<g>{}, Active{B}, Active{A}, Const{S});
    auto back = apart.reverse(2);
    expect(name, 4, get<0>(back), 2 * FA);
    expect(name, 5, get<1>(back), 2 * FB);
    expect(name, 6, get<2>(back), 2 * FS);
    auto swapped = other.reverse(1);
    expect(name, 7, get<0>(swapped), 2 * A * B * S);
    expect(name, 8, get<1>(swapped), B * B * S);
    auto [t] = autodiff<Forward>(function<g>{}, Duplicated{A, 1.}, Duplicated{B, 10.}, Const{S});
    expect(name, 9, t, FA + 10 * FB);
    auto [lanes] = autodiff<Forward>(g, DuplicatedLanes<double, 2>(A, {1, 0}), DuplicatedLanes<double, 2>(B, {0, 1}), Const{S});
    expect(name, 10, lanes[0], FA);
    expect(name, 11, lanes[1], FB);
    auto [v, same] = autodiff<Forward, Duplicated<double>>(function<g>{}, DuplicatedLanes<double, 2>(A, {1, 0}), Const{B},
                                                           DuplicatedLanes<double, 2>(S, {0, 1}));
    expect(name, 12, v, f(A, B, S));
    expect(name, 13, same[0], FA);
    expect(name, 14, same[1], FS);
}

// A result in memory that is passed, by reference or by pointer.
void results()
{
    double x[2] = {A, B}, dx[2] = {0, 0}, y = 0, dy = 1;
    auto [in] = autodiff<Reverse>(into, Duplicated{x, dx}, Active{S}, Duplicated<double &>(y, dy));
    expect("result", 0, y, f(A, B, S));
    expect("result", 1, dx[0], FA);
    expect("result", 2, get<0>(in), FS);
    expect("result", 3, dy, 0);
    dx[0] = dx[1] = 0, dy = 3;
    auto apart = split(function<into>{}, Duplicated{x, dx}, Active{S}, Duplicated<double &>(y, dy));
    auto back = apart.reverse();
    expect("result", 4, dx[1], 3 * FB);
    expect("result", 5, get<0>(back), 3 * FS);
    double d0[2] = {1, 0}, d1[2] = {0, 1}, t0 = 0, t1 = 0;
    autodiff<Forward>(into, DuplicatedLanes<double *, 2>(x, {d0, d1}), Const{S}, DuplicatedLanes<double &, 2>(y, {&t0, &t1}));
    expect("result", 6, t0, FA);
    expect("result", 7, t1, FB);
    double g0[2] = {0, 0}, g1[2] = {0, 0}, s0 = 1, s1 = 2;
    auto [lanes] = autodiff<Reverse>(into, DuplicatedLanes<double *, 2>(x, {g0, g1}), Active{S},
                                     DuplicatedLanes<double &, 2>(y, {&s0, &s1}));
    expect("result", 8, g0[0], FA);
    expect("result", 9, g1[1], 2 * FB);
    expect("result", 10, get<0>(lanes)[0], FS);
    expect("result", 11, get<0>(lanes)[1], 2 * FS);
    for (double *g : {g0, g1})
        g[0] = g[1] = 0;
    auto two = split(function<pointer>{}, DuplicatedLanes<double *, 2>(x, {g0, g1}), Active{S});
    auto seeds = two.reverse(1, 2);
    expect("result", 12, g0[0], FA);
    expect("result", 13, g1[1], 2 * FB);
    expect("result", 14, get<0>(seeds)[1], 2 * FS);
    Pair p{A, B}, dp[3] = {};
    auto three = split(function<object_reference>{}, DuplicatedLanes<Pair &, 3>(p, {dp, dp + 1, dp + 2}), Const{S});
    expect("result", 15, three.value, f(A, B, S));
    three.reverse(1, 2, 3);
    expect("result", 16, dp[2].a, 3 * FA);
    expect("result", 17, dp[1].b, 2 * FB);
    auto [adjoints, value] = autodiff<ReverseWithPrimal>(pointer, DuplicatedLanes<double *, 2>(x, {d0, d1}), Active{S});
    expect("result", 18, value, f(A, B, S));
    expect("result", 19, get<0>(adjoints)[1], FS);
}

// Objects that are called, with a shadow of what they hold.
struct Model {
    Pair p;
    double operator()(double s) const { return f(p.a, p.b, s); }
};
void objects()
{
    Model m{{A, B}}, d{{0, 0}};
    auto [in] = autodiff<Reverse>(Duplicated<Model &>(m, d), Active{S});
    expect("object", 0, d.p.a, FA);
    expect("object", 1, get<0>(in), FS);
    d = {{0, 0}};
    Duplicated<Model &> both(m, d);
    auto apart = split(both, Active{S});
    auto back = apart.reverse(2);
    expect("object", 2, d.p.b, 2 * FB);
    expect("object", 3, get<0>(back), 2 * FS);
    auto [t] = autodiff<Forward>(Duplicated<Model>(m, Model{{1, 10}}), Duplicated{S, 100.});
    expect("object", 4, t, FA + 10 * FB + 100 * FS);
    double a = A;
    auto lambda = [&a](double b, const Pair &unused) { return f(a, b, S) + unused.a; };
    auto captured = split(lambda, Active{B}, Const{Pair{0, 0}});
    expect("lambda", 0, get<0>(captured.reverse(1)), FB);
}

int main()
{
    numbers<number>("numbers");
    numbers<constant_reference>("constant references");
    returned<object, Pair>("object");
    returned<object_reference, Pair>("reference to an object");
    returned<array, Array>("array");
    returned<array_reference, Array>("reference to an array");
    results();
    objects();
    return failures();
}
