// Enough values on the tape to need several segments.
// tolerance: 1e-6
#include <math.h>
double large_trip_counts(double *x, int n) {
    double s = 0;
    for (int i = 0; i < 200; i++) {
        double v = x[i % n];
        for (int j = 0; j < 500; j++) v = sin(v) + 0.9 * x[j % n];
        s += v * cos(v);
    }
    return s / 200;
}
