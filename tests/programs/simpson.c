/* An integral over a parameter, by a function pointer. */
#include "selfcheck.h"
static double wave(double t, double a) { return sin(a * t) / (1 + t * t); }
static double simpson(double (*g)(double, double), double a, double to, int n)
{
    double h = to / n, sum = g(0, a) + g(to, a);
    for (int i = 1; i < n; i++)
        sum += (i % 2 ? 4 : 2) * g(i * h, a);
    return sum * h / 3;
}
static double f(const double *x, int n) { return simpson(wave, x[0], x[n - 1], 20); }
int main(void) { CHECK_GRADIENT(f, 2); return failures(); }
