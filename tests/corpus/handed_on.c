// What one iteration computes is the state of the next, and both need it: loops of known and unknown length, in a nest.
// x: 6 0.2 0.9
// n: 6
// y: 3
// m: 3
#include <math.h>
void handed_on(const double *x, int n, double *y, int m) {
    for (int run = 0; run < n; run++) {
        double a = x[run], b = x[0], sum = 0;
        for (int i = 0; i < 2 * n; i++) {
            double c = sin(a + 0.1 * b), d = exp(-x[1] * a * b);
            sum += c * c * d + a * b * d;
            a = c, b = d;
        }
        y[run % m] += sum + a * b;
    }
    double a = x[2], t = 0;
    for (int i = 0; t < 40; i++) {
        double c = sin(a * x[i % n]) + 1;
        y[i % m] += a * c * c;
        if (i > 150) break;
        a = c, t += 0.5 - 0.2 * (i % 2);
    }
    y[0] += a * a;
}
