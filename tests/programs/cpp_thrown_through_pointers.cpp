// Active values that virtual functions and functions in a table throw.
#include "selfcheck.h"
#include <vector>
struct Shape { virtual double area(double x) const { return x; } virtual ~Shape() {} };
struct Bad : Shape { double area(double x) const override { if (x > 2) throw x * x; return x * 5; } };
struct Good : Shape { double area(double x) const override { return x * x * x; } };
__attribute__((noinline)) static double total(const std::vector<Shape *> &s, double x, double *log) { double r = 0; for (auto *p : s) { try { *log += x; r += p->area(x); } catch (double d) { r += d * 2 * *log; } } return r; }
static double f2(double x) { Bad b; Good g; std::vector<Shape *> s{&b, &g, &b}; double log = 1; return total(s, x, &log) + log; }
typedef double (*fn)(double, double *);
__attribute__((noinline)) static double one(double x, double *log) { *log *= x; if (x > 2) throw x * x; return x; }
__attribute__((noinline)) static double two(double x, double *log) { *log += x * x; return x * 2; }
static fn table[2] = {one, two};
__attribute__((noinline)) static double through(fn p, double x, double *log) { return p(x, log) * 2; }
static double f3(double x) { double log = 1, r = 0; for (int i = 0; i < 4; i++) try { r += through(table[i % 2], x, &log); } catch (double d) { r += d * i * log; } return r + log; }
int main()
{
     CHECK_SLOPE(f2, 3.0);
    CHECK_SLOPE(f2, 1.0);
    CHECK_SLOPE(f3, 1.0);
    CHECK_SLOPE(f3, 2.5);
    return failures();
}
