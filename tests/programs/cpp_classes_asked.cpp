// Which class an object is of: dynamic_cast of pointers and references through a virtual base, typeid, std::bad_cast.
#include <typeinfo>
#include <memory>
#include <vector>
#include "selfcheck.h"
struct A { double w = 1; virtual ~A() {} virtual double v() const { return w; } };
struct B : virtual A { double z = 2; double v() const override { return w * z; } };
struct C : B { double q = 3; double v() const override { return w * z + q; } };
static double f(const double *x, int n)
{
    std::vector<std::unique_ptr<A>> all;
    for (int i = 0; i < n; i++) {
        if (i % 3 == 0) { auto a = std::make_unique<A>(); a->w = x[i]; all.push_back(std::move(a)); }
        else if (i % 3 == 1) { auto a = std::make_unique<B>(); a->w = x[i]; a->z = sin(x[0]); all.push_back(std::move(a)); }
        else { auto a = std::make_unique<C>(); a->w = x[i]; a->q = x[1] * x[2]; all.push_back(std::move(a)); }
    }
    double s = 0;
    for (auto &a : all) {
        A &held = *a;
        if (auto *c = dynamic_cast<C *>(a.get())) s += c->q * c->z * c->v();
        else if (typeid(held) == typeid(B)) s += dynamic_cast<B &>(*a).z * a->v();
        else s += a->v();
        try { s += 0.5 * dynamic_cast<C &>(*a).w; } catch (const std::bad_cast &) { s += 0.1; }
    }
    return s;
}
int main()
{
    double x[6], d[6] = {0};
    sample(x, 6);
    __enzyme_autodiff((void *)f, enzyme_dup, x, d, enzyme_const, 6);
    for (int i = 0; i < 6; i++) expect("gradient", i, d[i], slope_by(f, 6, i));
    return failures();
}
