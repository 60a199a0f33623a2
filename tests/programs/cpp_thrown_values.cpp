// Active values in what is thrown: a handler of a base class changes them and throws again.
#include "selfcheck.h"
#include <stdexcept>
struct Base { double v; int code; virtual double value() const { return v; } virtual ~Base() {} };
struct Other { double a[3]; };
struct Derived : Other, Base { double w; Derived(double x) { v = x * x; code = 7; w = 3 * x; a[0] = x; } double value() const override { return v * w; } };
__attribute__((noinline)) static double g(double x) { if (x > 2) throw Derived(x); if (x > 1) throw Other{{x, x * x, 2}}; return x * 5; }
__attribute__((noinline)) static double mid(double x) { try { return g(x); } catch (Base &b) { b.v *= x; throw; } }
static double f(double x) { try { return mid(x); } catch (const Base &b) { return b.value() * 3; } catch (Other o) { return o.a[1] * o.a[2]; } }
int main()
{
    CHECK_SLOPE(f, 3.0);
    CHECK_SLOPE(f, 1.5);
    CHECK_SLOPE(f, 0.5);
    return failures();
}
