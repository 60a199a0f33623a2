/* A struct of two doubles is passed in registers, a larger one on the stack. */
#include "selfcheck.h"
struct small { double a, b; };
struct large { double a[4]; int n; };
__attribute__((noinline)) static double of_small(struct small s) { return s.a * s.b + sin(s.a); }
__attribute__((noinline)) static double of_large(struct large s)
{
    double sum = 0;
    for (int i = 0; i < s.n; i++)
        sum += s.a[i] * s.a[i];
    s.a[0] = 7;
    return sum * s.a[1] + s.a[0];
}
static double f(const double *x, int n)
{
    struct small s = {x[0], x[1]};
    struct large l = {{x[0], x[1], x[2], x[3]}, n};
    return of_small(s) + of_large(l) + l.a[0];
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
