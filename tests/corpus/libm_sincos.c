// sincos stores two results through pointers.
#define _GNU_SOURCE
#include <math.h>
void libm_sincos(double *x, int n, double *y, int m) {
    double s, c;
    sincos(x[0] * x[1], &s, &c);
    y[0] = s * c * x[2];
    sincos(y[0], &y[1], &y[2]);
}
