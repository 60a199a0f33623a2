// Indirect calls through a table of functions.
#include <math.h>
static double f0(double a) { return sin(a); }
static double f1(double a) { return a * a; }
static double f2(double a) { return exp(-a); }
double function_pointer_table(double *x, int n) {
    double (*const table[3])(double) = {f0, f1, f2};
    double s = x[0];
    for (int i = 0; i < n; i++) s = table[i % 3](s) + x[i];
    return s;
}
