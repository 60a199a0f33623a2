/* A struct of two doubles comes back in registers. */
#include "selfcheck.h"
struct two { double a, b; };
__attribute__((noinline)) static struct two polar(double x, double y)
{
    struct two r = {sqrt(x * x + y * y), atan2(y, x)};
    return r;
}
static double f(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i + 1 < n; i++) {
        struct two p = polar(x[i], x[i + 1]);
        sum += p.a * cos(p.b) + p.b;
    }
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 5); return failures(); }
