// Thrown objects of classes with virtual bases, by whichever base they are caught.
#include "selfcheck.h"
struct Top { double t; virtual double value() const { return t; } virtual ~Top() {} };
struct Other { double o; };
struct Joined : Other, virtual Top { double j; };
struct A : virtual Joined { double a; };
struct B : A { double b; };
struct C : virtual Joined, virtual Top { double c[2]; };
struct Whole : B, C {
    double w;
    explicit Whole(double x)
    {
        t = x * x;
        o = 2 * x, j = x + 1, a = x, b = 3 * x, c[0] = x, c[1] = x * x * x, w = 1 / x;
    }
    double value() const override { return w * t + c[1] * b; }
};
struct Last : Whole { double z; explicit Last(double x) : Whole(x) { z = x * x; } double value() const override { return z * Whole::value(); } };
__attribute__((noinline)) static double risky(double x)
{
    if (x > 3)
        throw Last(x);
    if (x > 2)
        throw Whole(x);
    return x;
}
#define CATCHES(name, class, expression)                                                                              \
    static double name(double x)                                                                                      \
    {                                                                                                                 \
        try {                                                                                                         \
            return risky(x);                                                                                          \
        } catch (const class &e) {                                                                                    \
            return expression;                                                                                        \
        }                                                                                                             \
    }
CATCHES(by_other, Other, e.o * e.o)
CATCHES(by_c, C, e.value() * e.c[1] + e.j)
static double by_either(double x)
{
    try {
        return risky(x);
    } catch (Last &e) {
        return e.value() * e.z;
    } catch (B &e) {
        return e.value() * e.o;
    }
}
int main()
{
    for (double x = 3.5; x > 1; x -= 1) {
        CHECK_SLOPE(by_other, x);
        CHECK_SLOPE(by_c, x);
        CHECK_SLOPE(by_either, x);
    }
    return failures();
}
