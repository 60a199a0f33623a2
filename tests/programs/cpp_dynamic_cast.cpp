// dynamic_cast: down, across to a second base, back from it, and one that fails.
#include "selfcheck.h"

struct Shape { double w; Shape(double w) : w(w) {} virtual double f(double u) { return sin(w * u); } virtual ~Shape() {} };
struct Named { double n = 0.4; virtual double g(double u) { return u * n; } virtual ~Named() {} };
struct Both : Shape, Named { double z; Both(double w) : Shape(w), z(w * w) {} double g(double u) override { return z * u + n; } };
struct Other : Shape { Other(double w) : Shape(w) {} double f(double u) override { return w * u * u; } };

static __attribute__((noinline)) double asked(Shape *s, double u)
{
    double r = s->f(u);
    if (Both *b = dynamic_cast<Both *>(s)) {
        b->z *= u;
        r += b->z;
    }
    if (Named *n = dynamic_cast<Named *>(s)) {
        n->n *= r;
        r += n->g(u);
        if (Both *again = dynamic_cast<Both *>(n))
            r += again->w * again->n;
    }
    return r;
}

static double f(const double *x, int)
{
    Both b(x[0]);
    Other o(x[1]);
    Shape *s[2] = {&b, &o};
    double r = 0;
    for (int i = 0; i < 4; i++)
        r += asked(s[i % 2], x[2] + 0.1 * i);
    return r + b.z * b.n;
}

int main()
{
    double x[3], d[3] = {0, 0, 0};
    sample(x, 3);
    __enzyme_autodiff((void *)f, enzyme_dup, x, d, enzyme_const, 3);
    for (int i = 0; i < 3; i++)
        expect("gradient", i, d[i], slope_by(f, 3, i));
    for (int i = 0; i < 3; i++) {
        double t[3] = {0, 0, 0};
        t[i] = 1;
        expect("slope", i, __enzyme_fwddiff((void *)f, enzyme_dup, x, t, enzyme_const, 3), slope_by(f, 3, i));
    }
    return failures();
}
