/* Every way to nest forward and reverse to third order, and one of fourth. */
#include "check.h"
static double f(double x) { return x * x * x * sin(x); }
#define REVERSE(name, of) static double name(double x) { return __enzyme_autodiff((void *)of, x); }
#define FORWARD(name, of) static double name(double x) { return __enzyme_fwddiff((void *)of, x, 1.0); }
REVERSE(r, f) FORWARD(t, f)
REVERSE(rr, r) FORWARD(tr, r) REVERSE(rt, t) FORWARD(tt, t)
REVERSE(rrr, rr) FORWARD(trr, rr) REVERSE(rtr, tr) FORWARD(ttr, tr)
REVERSE(rrt, rt) FORWARD(trt, rt) REVERSE(rtt, tt) FORWARD(ttt, tt)
REVERSE(rtrr, trr)
int main(void) {
    double x = 1.3, s = sin(x), c = cos(x);
    double first = 3 * x * x * s + x * x * x * c, second = 6 * x * s + 6 * x * x * c - x * x * x * s;
    double third = 6 * s + 18 * x * c - 9 * x * x * s - x * x * x * c;
    CHECK(r(x), first); CHECK(t(x), first);
    CHECK(rr(x), second); CHECK(tr(x), second); CHECK(rt(x), second); CHECK(tt(x), second);
    CHECK(rrr(x), third); CHECK(trr(x), third); CHECK(rtr(x), third); CHECK(ttr(x), third);
    CHECK(rrt(x), third); CHECK(trt(x), third); CHECK(rtt(x), third); CHECK(ttt(x), third);
    CHECK(rtrr(x), 24 * c - 36 * x * s - 12 * x * x * c + x * x * x * s);
    return failures;
}
