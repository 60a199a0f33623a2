// Batches of functions that take and return structs in registers.
#include "selfcheck.h"
template <class R, class... A> R __enzyme_batch(void *, A...);
extern int enzyme_vector, enzyme_scalar;

struct Doubles { double a, b; };
struct Three { float a, b, c; };
struct Counted { double a; long n; };
struct Two { float a, b; };
struct Large { double a, b, c; };
template <class T> struct lanes { T at[3]; };

static double doubles(Doubles x, double w) { return (x.a + 10 * x.b) * w; }
static Three three(Three x, Two y) { return {x.c * y.a, x.b * y.b, x.a}; }
static Counted counted(Counted x, double w) { return {x.a * w, x.n + 1}; }
static Large large(Doubles x, double w) { return {x.a * w, x.b * w, w}; }
static double many(double a, double b, double c, double d, double e, double f, Counted x) { return a + b + c + d + e + f + x.a * x.n; }

int main()
{
    Doubles x[3] = {{1, 2}, {3, 4}, {5, 6}};
    auto r = __enzyme_batch<lanes<double>>((void *)doubles, enzyme_width, 3, enzyme_vector, x[0], x[1], x[2], enzyme_scalar, 2.0);
    for (int i = 0; i < 3; i++)
        expect("doubles", i, r.at[i], 2 * (x[i].a + 10 * x[i].b));
    r = __enzyme_batch<lanes<double>>((void *)doubles, enzyme_width, 3, enzyme_scalar, x[1], enzyme_vector, 2.0, 3.0, 4.0);
    for (int i = 0; i < 3; i++)
        expect("one struct", i, r.at[i], (2 + i) * 43);
    Three t[3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
    Two y[3] = {{1, 2}, {3, 4}, {5, 6}};
    auto s = __enzyme_batch<lanes<Three>>((void *)three, enzyme_width, 3, enzyme_vector, t[0], t[1], t[2], enzyme_vector, y[0], y[1], y[2]);
    for (int i = 0; i < 3; i++) {
        expect("three", 3 * i, s.at[i].a, t[i].c * y[i].a);
        expect("three", 3 * i + 1, s.at[i].b, t[i].b * y[i].b);
        expect("three", 3 * i + 2, s.at[i].c, t[i].a);
    }
    Counted c[3] = {{1, 2}, {3, 4}, {5, 6}};
    auto l = __enzyme_batch<lanes<Large>>((void *)large, enzyme_width, 3, enzyme_vector, x[0], x[1], x[2], enzyme_vector, 2.0, 3.0, 4.0);
    for (int i = 0; i < 3; i++) {
        expect("large", 3 * i, l.at[i].a, (2 + i) * x[i].a);
        expect("large", 3 * i + 1, l.at[i].b, (2 + i) * x[i].b);
        expect("large", 3 * i + 2, l.at[i].c, 2 + i);
    }
    auto n = __enzyme_batch<lanes<Counted>>((void *)counted, enzyme_width, 3, enzyme_vector, c[0], c[1], c[2], enzyme_scalar, 2.0);
    for (int i = 0; i < 3; i++) {
        expect("counted", 2 * i, n.at[i].a, 2 * c[i].a);
        expect("counted", 2 * i + 1, (double)n.at[i].n, (double)c[i].n + 1);
    }
    r = __enzyme_batch<lanes<double>>((void *)many, enzyme_width, 3, enzyme_scalar, 1.0, enzyme_scalar, 2.0, enzyme_scalar, 3.0,
                                      enzyme_scalar, 4.0, enzyme_scalar, 5.0, enzyme_vector, 6.0, 7.0, 8.0, enzyme_vector, c[0], c[1], c[2]);
    for (int i = 0; i < 3; i++)
        expect("in memory", i, r.at[i], 21 + i + c[i].a * c[i].n);
    return failures();
}
