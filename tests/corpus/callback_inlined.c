// A function pointer that is known once everything is inlined.
#include <math.h>
static double apply(double (*f)(double, double), double a, double b) { return f(a, b) + f(b, a); }
static double g(double a, double b) { return a * sin(b); }
static double h(double a, double b) { return a / (b + 1); }
double callback_inlined(double *x, int n) { return apply(g, x[0], x[1]) * apply(h, x[2], x[3]); }
