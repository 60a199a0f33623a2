// Base classes with members of their own, and two bases.
#include "selfcheck.h"
struct left { double a; double twice() const { return 2 * a; } };
struct right { double b; double thrice() const { return 3 * b; } };
struct both : left, right {
    int n;
    double c;
    both(double x, double y, double z) : left{x}, right{y}, n(2), c(z) {}
    double value() const { return twice() * thrice() + n * c * c; }
};
static double of_right(const right *r) { return r->thrice() * r->b; }
static double f(const double *x, int n)
{
    both o(x[0], x[1], x[n - 1]);
    return o.value() + of_right(&o);
}
int main() { CHECK_GRADIENT(f, 3); return failures(); }
