// Second derivatives of sums over a vector of objects with virtual functions.
#include "selfcheck.h"
#include <memory>
#include <vector>
struct Term {
    virtual ~Term() {}
    virtual double at(double t) const = 0;
    virtual const char *name() const { return "term"; }
};
struct Wave : Term {
    double a;
    int k;
    Wave(double a, int k) : a(a), k(k) {}
    double at(double t) const override { return a * std::sin(k * a * t); }
};
struct Bell : Term {
    double middle, width;
    float weight = 1.5f;
    Bell(double middle, double width) : middle(middle), width(width) {}
    double at(double t) const override
    {
        double u = (t - middle) / width;
        return weight * std::exp(-u * u / 2);
    }
    const char *name() const override { return "bell"; }
};
static double f(const double *x, int n)
{
    std::vector<std::unique_ptr<Term>> terms;
    for (int i = 0; i < n; i++) {
        if (i % 2)
            terms.push_back(std::unique_ptr<Term>(new Wave(x[i], i)));
        else
            terms.emplace_back(new Bell(x[i], 1 + x[(i + 1) % n]));
    }
    double s = 0;
    for (double t = 0; t < 2; t += 0.25) {
        double p = 1;
        for (auto &term : terms)
            p += term->at(t);
        s += p * p;
    }
    return s;
}
static void gradient(const double *x, double *d, int n)
{
    __enzyme_autodiff_void((void *)f, enzyme_dup, x, d, enzyme_const, n);
}
static double along(const double *x, int n)
{
    double d[4] = {0};
    gradient(x, d, n);
    return d[0] - 2 * d[1] + d[2] + d[3] / 2;
}
int main()
{
    CHECK_GRADIENT(f, 4);
    for (int i = 0; i < 4; i++) {
        double x[4], t[4] = {1, -2, 1, 0.5}, d[4] = {0}, dd[4] = {0};
        sample(x, 4);
        __enzyme_fwddiff_void((void *)gradient, enzyme_dup, x, t, enzyme_dup, d, dd, enzyme_const, 4);
        expect("second", i, dd[i], slope_by(along, 4, i));
    }
    return failures();
}
