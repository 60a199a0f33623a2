/* A table of structs with function pointers and coefficients. */
#include "selfcheck.h"
struct unit { double (*apply)(double, double); double by; };
static double plus(double x, double k) { return x + k * x; }
static double times(double x, double k) { return x * x * k; }
static double quench(double x, double k) { return k / (1 + exp(-x)); }
static const struct unit chain[] = {{plus, 0.5}, {times, 1.5}, {quench, 3}, {plus, -0.2}};
static double f(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        double v = x[i];
        for (unsigned k = 0; k < sizeof chain / sizeof *chain; k++)
            v = chain[(k + i) % 4].apply(v, chain[k].by);
        sum += v;
    }
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
