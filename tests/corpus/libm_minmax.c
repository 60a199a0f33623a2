// fmin fmax fabs fdim copysign fma away from their kinks.
#include <math.h>
void libm_minmax(double *x, int n, double *y, int m) {
    y[0] = fmin(x[0], 2.0 * x[1] + 1.0) * fmax(x[2], x[3] - 2.0);
    y[1] = fabs(x[4] - 3.0) + fabs(x[5]) * fabs(-x[0]);
    y[2] = fdim(x[1] + 2.0, x[2]) + fdim(x[3], x[4] + 2.0);
    y[3] = copysign(x[5], x[0] - 5.0) * copysign(-x[1], 3.0) + fma(x[2], x[3], x[4]);
}
