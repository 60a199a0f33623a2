// Adjoints of structs that are passed in registers: of several structs, beside a value, for several lanes.
#include "selfcheck.h"
template <class R, class... A> R __enzyme_autodiff(void *, A...);
template <class R, class... A> R __enzyme_augmentfwd(void *, A...);
template <class R, class... A> R __enzyme_reverse(void *, A...);

struct Doubles { double a, b; };
struct Counted { double a; long n; double get() const { return a * n; } };
struct Three { float a, b, c; };
struct Mixed { float a; double b; };
struct Packed { int n; float a, b; };
struct Two { float a, b; };
typedef float vector __attribute__((vector_size(16)));

template <class T> struct pair { T a, b; };
template <class V, class T> struct valued { V value; T a; };
template <class S, class T> struct both { S s; T t; };
struct kept { void *tape; double value; };

static double doubles(Doubles x, const double *w) { return (x.a * x.a + 3 * x.b * x.b) * w[0]; }
static double counted(Counted x, const double *w) { return x.get() * x.a * w[0]; }
static double three(Three x, const double *w) { return (x.a * x.a + 3 * x.b * x.b + x.a * x.c) * w[0]; }
static double mixed(Mixed x, const double *w) { return (x.a * x.a + 3 * x.b * x.b) * w[0]; }
static double packed(Packed x, const double *w) { return x.n * (x.a * x.a + 3 * x.b * x.b) * w[0]; }
static double several(Three x, Two y, Doubles z) { return x.a * y.b * z.b + x.c * y.a * z.a; }
static float with_value(Two x) { return x.a * x.a * x.b; }
static float of_vector(vector x) { return x[0] * x[0] * x[1]; }

constexpr double W = 2;
static double w[1] = {W}, first[1], second[1];

template <auto f, class T, class Check> void lanes(T x, Check check)
{
    auto two = __enzyme_autodiff<pair<T>>((void *)f, enzyme_width, 2, enzyme_out, x, enzyme_dup, w, first, second);
    check(two.a, 1);
    check(two.b, 1);
    auto k = __enzyme_augmentfwd<kept>((void *)f, enzyme_width, 2, enzyme_out, x, enzyme_const, w);
    two = __enzyme_reverse<pair<T>>((void *)f, enzyme_width, 2, enzyme_out, x, enzyme_const, w, 3.0, 5.0, k.tape);
    check(two.a, 3);
    check(two.b, 5);
}

int main()
{
    lanes<doubles>(Doubles{2, 3}, [](Doubles d, double s) {
        expect("doubles", 0, d.a, 4 * W * s);
        expect("doubles", 1, d.b, 18 * W * s);
    });
    lanes<counted>(Counted{2, 3}, [](Counted d, double s) { expect("counted", 0, d.a, 12 * W * s); });
    lanes<three>(Three{2, 3, 5}, [](Three d, double s) {
        expect("three", 0, d.a, 9 * W * s);
        expect("three", 1, d.b, 18 * W * s);
        expect("three", 2, d.c, 2 * W * s);
    });
    lanes<mixed>(Mixed{2, 3}, [](Mixed d, double s) {
        expect("mixed", 0, d.a, 4 * W * s);
        expect("mixed", 1, d.b, 18 * W * s);
    });
    lanes<packed>(Packed{7, 2, 3}, [](Packed d, double s) {
        expect("packed", 0, d.a, 7 * 4 * W * s);
        expect("packed", 1, d.b, 7 * 18 * W * s);
    });
    Three x{2, 3, 5};
    Two y{7, 11};
    Doubles z{13, 17};
    auto one = __enzyme_autodiff<both<Three, both<Two, Doubles>>>((void *)several, enzyme_out, x, enzyme_out, y, enzyme_out, z);
    expect("several", 0, one.s.a, 11 * 17);
    expect("several", 1, one.s.b, 0);
    expect("several", 2, one.s.c, 7 * 13);
    expect("several", 3, one.t.s.a, 5 * 13);
    expect("several", 4, one.t.s.b, 2 * 17);
    expect("several", 5, one.t.t.a, 5 * 7);
    expect("several", 6, one.t.t.b, 2 * 11);
    auto two = __enzyme_autodiff<both<pair<Three>, both<pair<Two>, pair<Doubles>>>>(
        (void *)several, enzyme_width, 2, enzyme_out, x, enzyme_out, y, enzyme_out, z);
    expect("of each lane", 0, two.s.b.c, 7 * 13);
    expect("of each lane", 1, two.t.s.b.a, 5 * 13);
    expect("of each lane", 2, two.t.s.b.b, 2 * 17);
    expect("of each lane", 3, two.t.t.b.a, 5 * 7);
    expect("of each lane", 4, two.t.t.a.b, 2 * 11);
    auto beside = __enzyme_autodiff<valued<float, Two>>((void *)with_value, enzyme_primal_return, enzyme_out, Two{2, 3});
    expect("value", 0, beside.value, 12);
    expect("beside a value", 0, beside.a.a, 12);
    expect("beside a value", 1, beside.a.b, 4);
    auto aligned = __enzyme_autodiff<valued<float, vector>>((void *)of_vector, enzyme_primal_return, enzyme_out, vector{2, 3, 0, 0});
    expect("value", 1, aligned.value, 12);
    expect("vector", 0, aligned.a[0], 12);
    expect("vector", 1, aligned.a[1], 4);
    return failures();
}
