// Throws through derivatives of several kinds: of width N, in two sweeps, differentiated again, through virtual calls.
#include "selfcheck.h"
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
static int alive;
struct Counted {
    double *at;
    explicit Counted(double x) : at(new double(x)) { alive++; }
    Counted(const Counted &other) : at(new double(*other.at)) { alive++; }
    ~Counted() { alive--, delete at; }
};
struct Shape {
    virtual double area(double x) const = 0;
    virtual ~Shape() {}
};
struct Square : Shape {
    double area(double x) const override { Counted c(x); return *c.at * x; }
};
struct Circle : Shape {
    std::vector<double> factors{3.0, 0.14};
    double area(double x) const override
    {
        Counted c(x * factors[0] + x * factors[1]);
        if (x > 1.2)
            throw std::runtime_error("too large: " + std::to_string(x));
        return *c.at * *c.at;
    }
};
static double recursive(const double *x, int n)
{
    if (n == 0)
        return 1;
    std::vector<Counted> both;
    both.emplace_back(x[0]);
    both.emplace_back(x[0] * 2);
    std::unique_ptr<Shape> shape(n % 2 ? static_cast<Shape *>(new Circle) : new Square);
    double rest = recursive(x + 1, n - 1);
    return rest * *both[0].at + *both[1].at * shape->area(x[0]);
}
static double f(const double *x, int n)
{
    double before = 0;
    for (int i = 0; i < n; i++) {
        std::vector<double> row(i + 2, x[i]);
        row[0] *= row[1];
        for (double v : row)
            before += v;
    }
    return before * recursive(x, n);
}
static double gradient_of_first(const double *x, int n)
{
    std::vector<double> d(n);
    __enzyme_autodiff((void *)f, enzyme_dup, x, d.data(), n);
    return d[0];
}
typedef struct { void *tape; double value; } kept;
extern "C" kept __enzyme_augmentfwd(void *, ...);
extern "C" void __enzyme_reverse(void *, ...);
int main()
{
    CHECK_GRADIENT(f, 3);
    double x[8], d[8] = {0}, e[8] = {0};
    sample(x, 8);
    int caught = 0;
    for (int k = 0; k < 2; k++) {
        try {
            __enzyme_autodiff_void((void *)f, enzyme_width, 2, enzyme_dup, x, d, e, 8);
        } catch (const std::runtime_error &) {
            caught++;
        }
        try {
            __enzyme_augmentfwd((void *)f, enzyme_dup, x, d, 8);
        } catch (const std::runtime_error &) {
            caught++;
        }
        try {
            __enzyme_fwddiff((void *)f, enzyme_dup, x, d, 8);
        } catch (const std::runtime_error &) {
            caught++;
        }
    }
    expect("caught", 0, caught, 6);
    expect("alive", 0, alive, 0);
    for (int i = 0; i < 8; i++)
        expect("untouched", i, d[i] + e[i], 0);
    kept tape = __enzyme_augmentfwd((void *)f, enzyme_dup, x, d, 3);
    __enzyme_reverse((void *)f, enzyme_nofree, enzyme_dup, x, e, 3, 2.0, tape.tape);
    __enzyme_reverse((void *)f, enzyme_dup, x, d, 3, 1.0, tape.tape);
    for (int i = 0; i < 3; i++)
        expect("split", i, d[i], e[i] / 2), expect("split", i, d[i], slope_by(f, 3, i));
    return failures();
}
