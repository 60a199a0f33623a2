// exp exp2 expm1 log log2 log10 log1p.
#include <math.h>
void libm_exponential(double *x, int n, double *y, int m) {
    y[0] = exp(x[0]) * exp2(x[1]) + expm1(x[2]);
    y[1] = log(x[3]) + log2(x[4]) * log10(x[5]);
    y[2] = log1p(x[0] * x[1]);
    y[3] = exp(-x[2] * x[2]) / log(2.0 + x[3]);
}
