// pow with variable base and exponent, integer exponents, sqrt, cbrt, hypot.
#include <math.h>
void libm_powers(double *x, int n, double *y, int m) {
    y[0] = pow(x[0], x[1]) + pow(x[2], 3.0) + pow(x[3], -2.0) + pow(2.0, x[4]);
    y[1] = sqrt(x[0] + x[1]) * cbrt(x[2]);
    y[2] = hypot(x[3], x[4] * x[5]);
    y[3] = pow(-x[5], 3.0) + pow(x[4], 0.5);
}
