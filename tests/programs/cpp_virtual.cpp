// Virtual functions: the class is chosen while the program runs.
#include "selfcheck.h"
struct shape { virtual double area(double r) const = 0; virtual ~shape() {} };
struct disc : shape { double area(double r) const override { return 3.25 * r * r; } };
struct square : shape { double side; explicit square(double s) : side(s) {} double area(double r) const override { return side * r; } };
static double f(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        disc d;
        square s(x[0]);
        const shape *p = i % 2 ? static_cast<const shape *>(&d) : &s;
        sum += p->area(x[i]);
    }
    return sum;
}
int main() { CHECK_GRADIENT(f, 5); return failures(); }
