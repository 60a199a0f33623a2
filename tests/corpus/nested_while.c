// Data-dependent loops within a data-dependent loop.
#include <math.h>
double nested_while(double *x, int n) {
    double s = x[0], t = x[1];
    while (s < 5.0) {
        double r = t;
        while (r > 0.1) r *= 0.6 * sin(s) * sin(s) + 0.1;
        s += r + 0.4 * x[2];
        t = t * 0.9 + r * s;
    }
    return s * t;
}
