// The step size follows an error estimate: its branches depend on active data.
// tolerance: 1e-5
#include <math.h>
double ode_adaptive(double *x, int n) {
    double t = 0, v = x[0], h = 0.1;
    while (t < 1.0) {
        double k1 = -x[1] * v * v + sin(t), mid = v + h / 2 * k1, k2 = -x[1] * mid * mid + sin(t + h / 2);
        double error = fabs(h * (k2 - k1));
        if (error > 0.01) {
            h *= 0.5;
            continue;
        }
        v += h * k2;
        t += h;
        if (error < 0.001) h *= 1.5;
    }
    return v + t * x[2];
}
