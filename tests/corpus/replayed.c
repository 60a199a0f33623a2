// Short recurrences in inner loops, of floats and integers, active and not, whose values the reverse sweep needs.
// x: 7 0.5 1.5
// n: 7
// y: 3
// m: 3
#include <math.h>
void replayed(const double *x, int n, double *y, int m) {
    double z[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (int run = 0; run < n; run++) {
        double wr = 1, wi = 0, c = cos(0.3 * run), s = x[run] * 0.1;
        unsigned random = 12345u + run;
        for (int k = 0; k < run; k++) {
            double a = z[k] * wr - z[k + 1] * wi;
            z[k + 1] = z[k] * wi + z[k + 1] * wr + (random >> 28) * x[k] * a;
            z[k] = a;
            double next = wr * c - wi * s;
            wi = wr * s + wi * c;
            wr = next;
            random = random * 1664525u + 1013904223u;
        }
        float power = 1, last = 0;
        for (int k = 0; k <= run; k++) {
            y[k % m] += power * z[k] * z[k] + last * last;
            last = power;
            power = power * (float)x[0] + 0.25f;
        }
    }
}
