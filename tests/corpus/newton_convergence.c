// Newton's iteration until convergence.
#include <math.h>
double newton_convergence(double *x, int n) {
    double r = x[0] + 1;
    for (int k = 0; k < 100; k++) {
        double step = (r * r * r - x[1] * r - x[2] - 1) / (3 * r * r - x[1]);
        r -= step;
        if (fabs(step) < 1e-13) break;
    }
    return r;
}
