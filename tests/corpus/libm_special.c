// erf erfc lgamma tgamma.
#include <math.h>
void libm_special(double *x, int n, double *y, int m) {
    y[0] = erf(x[0]) * erfc(x[1]);
    y[1] = lgamma(x[2] + 0.7);
    y[2] = tgamma(x[3] + x[4]);
    y[3] = erf(y[1] * x[5]);
}
