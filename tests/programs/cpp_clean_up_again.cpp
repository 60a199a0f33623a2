// A derivative that is differentiated again is left by a throw, too.
#include "selfcheck.h"
#include <stdexcept>
#include <vector>
static int alive;
struct Counted {
    double *at;
    explicit Counted(double x) : at(new double(x)) { alive++; }
    ~Counted() { alive--, delete at; }
};
__attribute__((noinline)) static double step(double x)
{
    Counted c(x * x);
    if (x > 1.2)
        throw std::runtime_error("too large");
    return *c.at * x;
}
static double f(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        Counted c(x[i]);
        std::vector<double> row(2, x[i]);
        row[0] *= row[1];
        double r = row[0] * step(x[i]);
        sum += *c.at * r;
    }
    return sum;
}
static double first(const double *x, int n)
{
    std::vector<double> d(n);
    __enzyme_autodiff((void *)f, enzyme_dup, x, d.data(), n);
    double s = 0;
    for (double v : d)
        s += v * v;
    return s;
}
int main()
{
    CHECK_GRADIENT(first, 3);
    double x[8], d[8] = {0};
    sample(x, 8);
    int caught = 0;
    for (int k = 0; k < 2; k++) {
        try {
            __enzyme_autodiff((void *)first, enzyme_dup, x, d, 8);
        } catch (const std::runtime_error &) {
            caught++;
        }
        try {
            __enzyme_fwddiff((void *)first, enzyme_dup, x, d, 8);
        } catch (const std::runtime_error &) {
            caught++;
        }
    }
    expect("caught", 0, caught, 4);
    expect("alive", 0, alive, 0);
    return failures();
}
