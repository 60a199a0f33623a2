// A function that is not inlined.
#include <math.h>
static __attribute__((noinline)) double g(double a, double b) { return sin(a) * b + a * a; }
double noinline_call(double *x, int n) { return g(x[0], x[1]) * g(x[2], g(x[3], x[4])); }
