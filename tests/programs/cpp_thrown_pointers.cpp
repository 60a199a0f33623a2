// Thrown pointers: to objects of the heap, to parts of them by a base class, to text, beside thrown objects; caught by value and by reference.
#include "selfcheck.h"
struct Left { double l; virtual ~Left() {} };
struct Right { double r; int code; virtual double value() const { return r; } virtual ~Right() {} };
struct Whole : Left, Right { double w; Whole(double x) { l = x; r = x * x; code = 2; w = 3 * x; } double value() const override { return r * w + l; } };
struct Plain { double v, u; };
static int alive;
__attribute__((noinline)) static double risky(double x)
{
    if (x > 3)
        throw new Whole(x);
    if (x > 2) {
        alive++;
        throw new double[2]{x, x * x};
    }
    if (x > 1.5)
        throw Plain{x, x * x};
    if (x > 1)
        throw "text";
    return x * 5;
}
__attribute__((noinline)) static double middle(double x)
{
    try {
        return risky(x);
    } catch (Plain &p) {
        p.v *= x;
        throw;
    } catch (Right *r) {
        r->r *= 2;
        throw;
    }
}
static double f(double x)
{
    try {
        return middle(x);
    } catch (Left *l) {
        delete l;
        return x;
    } catch (double *p) {
        double result = p[0] * p[1];
        delete[] p;
        alive--;
        return result;
    } catch (const Plain &p) {
        return p.v * p.u;
    } catch (const char *text) {
        return x * text[0];
    }
}
static double by_reference(double x)
{
    try {
        return middle(x) * x;
    } catch (Right *&r) {
        double result = r->value() * r->code;
        delete r;
        return result;
    } catch (double *const &p) {
        double result = p[1] * x;
        delete[] p;
        alive--;
        return result;
    } catch (const Plain &p) {
        return p.v + p.u;
    } catch (...) {
        return x * x;
    }
}
static double over_all(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += f(x[i] * 2) * by_reference(x[i] * 2 + 0.35);
    return sum;
}
int main()
{
    const double at[] = {3.5, 2.5, 1.7, 1.2, 0.5};
    for (int i = 0; i < 5; i++) {
        CHECK_SLOPE(f, at[i]);
        CHECK_SLOPE(by_reference, at[i]);
    }
    CHECK_GRADIENT(over_all, 7);
    expect("alive", 0, alive, 0);
    return failures();
}
