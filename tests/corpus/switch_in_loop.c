// A switch taken differently in each trip.
#include <math.h>
void switch_in_loop(double *x, int n, double *y, int m) {
    for (int i = 0; i < 3 * n; i++) {
        double v = x[i % n];
        switch (i % 5) {
        case 0: y[0] += v * v; break;
        case 1: y[1] = sin(y[1]) + v; break;
        case 2: y[2] *= v; continue;
        case 3: y[0] = y[1] * y[2]; break;
        default: y[3] -= v * y[0]; break;
        }
        y[3] = 0.5 * y[3] + 0.1 * v * y[1];
    }
}
