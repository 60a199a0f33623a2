// What an optimiser computes ahead of a condition: infinite partials of what is not chosen must not be met.
#include <math.h>
typedef struct { double a, b; } Pair;
static __attribute__((noinline)) Pair minus(Pair p, Pair q) { return (Pair){p.a - q.a, p.b - q.b}; }
double speculated(double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) {
        double d = x[i] - x[0];
        s += d != 0 ? x[i] / d : 0.0;
        s += d > 0 ? sqrt(d) * log(sqrt(d)) : d;
        if (n > 100) s += x[i] * (1 / (x[0] - x[0]));
    }
    Pair r = minus((Pair){x[0], x[1]}, (Pair){x[0], x[2]});
    return s + (r.a != 0 ? r.b / r.a : r.b);
}
