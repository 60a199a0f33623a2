// Adaptive integration by recursion.
#include <math.h>
static double f(double t, double p) { return exp(-p * t) * sin(3 * t); }
static double refine(double a, double b, double p, int depth) {
    double m = (a + b) / 2, h = b - a;
    double whole = h / 6 * (f(a, p) + 4 * f(m, p) + f(b, p));
    double left = h / 12 * (f(a, p) + 4 * f((a + m) / 2, p) + f(m, p));
    double right = h / 12 * (f(m, p) + 4 * f((m + b) / 2, p) + f(b, p));
    if (depth == 0 || fabs(left + right - whole) < 1e-5) return left + right;
    return refine(a, m, p, depth - 1) + refine(m, b, p, depth - 1);
}
double adaptive_simpson(double *x, int n) { return refine(0, 1 + x[0], x[1], 6); }
