// sin cos tan and their inverses.
#include <math.h>
void libm_trigonometry(double *x, int n, double *y, int m) {
    y[0] = sin(x[0]) * cos(x[1]) + tan(x[2] * 0.5);
    y[1] = asin(x[3] * 0.5) + acos(x[4] * 0.5);
    y[2] = atan(x[0] * x[5]) + atan2(x[1], x[2]) + atan2(-x[3], -x[4]);
    y[3] = sin(cos(x[0]) + y[0]);
}
