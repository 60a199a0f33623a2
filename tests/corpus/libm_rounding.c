// floor ceil trunc round rint: locally constant, so only what surrounds them has a derivative.
#include <math.h>
void libm_rounding(double *x, int n, double *y, int m) {
    y[0] = x[0] * 10.0 - floor(x[0] * 10.0);
    y[1] = x[1] * ceil(x[2] * 7.3) + trunc(x[3] * 5.1) * x[4];
    y[2] = round(x[5] * 3.3) * x[0] + rint(x[1] * 4.7) * x[2] + nearbyint(x[3] * 9.0);
    y[3] = (double)lround(x[4] * 6.1) * x[4] + (double)lrint(x[5] * 2.9);
}
