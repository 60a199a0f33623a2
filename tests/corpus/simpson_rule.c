// Numerical integration with parameters.
#include <math.h>
double simpson_rule(double *x, int n) {
    int steps = 20;
    double h = x[1] / steps, s = 0;
    for (int i = 0; i <= steps; i++) {
        double t = x[0] + i * h, w = i == 0 || i == steps ? 1 : i % 2 ? 4 : 2;
        s += w * exp(-x[2] * t * t);
    }
    return s * h / 3;
}
