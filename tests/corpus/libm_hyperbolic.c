// sinh cosh tanh and their inverses.
#include <math.h>
void libm_hyperbolic(double *x, int n, double *y, int m) {
    y[0] = sinh(x[0]) * cosh(x[1]) - tanh(x[2] * x[3]);
    y[1] = asinh(x[3]) + acosh(1.5 + x[4]);
    y[2] = atanh(x[5] * 0.5);
    y[3] = tanh(tanh(x[0]) + x[1]);
}
