// Recurrences that are the same in several loops of changing length: alone, and where the loop keeps values.
// x: 6 0.2 0.9
// n: 6
// y: 3
// m: 3
#include <math.h>
void replayed_once(const double *x, int n, double *y, int m) {
    double z[32];
    for (int i = 0; i < 32; i++) z[i] = x[i % n];
    for (int stage = 1; stage < n; stage++) {
        double c = cos(0.2 * stage), s = sin(0.3 * stage);
        for (int i = 0; i < n; i++) {
            double wr = 1, wi = 0;
            for (int k = 0; k < (i * 7) % 11; k++) {
                double a = z[k] * wr - z[k + 16] * wi, b = z[k] * wi + z[k + 16] * wr;
                z[k + 16] = 0.7 * z[k] - 0.1 * b;
                z[k] = 0.5 * a - 0.3 * b;
                double next = wr * c - wi * s;
                wi = wr * s + wi * c;
                wr = next;
            }
        }
    }
    for (int stage = 1; stage < n; stage++) {
        double c = cos(x[0] * stage), s = sin(0.3 * stage);
        for (int i = 0; i < n; i++) {
            double wr = 1, wi = 0;
            for (int k = 0; k < (i * 7) % 11; k++) {
                double a = z[k] * wr - z[k + 16] * wi, b = z[k] * wi + z[k + 16] * wr;
                z[k + 16] = z[k] - 0.1 * b;
                z[k] = a / (1 + a * a + b * b);
                double next = wr * c - wi * s;
                wi = wr * s + wi * c;
                wr = next;
            }
        }
    }
    for (int i = 0; i < 32; i++) y[i % m] += z[i] * z[i];
}
