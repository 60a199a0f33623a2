// A function and its data in a struct, called back through it.
#include <math.h>
struct closure { double (*call)(const struct closure *, double); double a, b; };
static double line(const struct closure *c, double t) { return c->a * t + c->b; }
static double wave(const struct closure *c, double t) { return c->a * sin(c->b * t); }
static __attribute__((noinline)) double sum(const struct closure *c, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += c->call(c, 0.3 * i);
    return s;
}
double closure_struct(double *x, int n) {
    struct closure f = {line, x[0], x[1]}, g = {wave, x[2], x[3]};
    return sum(&f, 3) * sum(&g, 4);
}
