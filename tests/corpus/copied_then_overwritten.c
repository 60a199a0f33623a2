#include <math.h>

double copied_then_overwritten(double *x, int n, double *y) {
    double a[6];
    for (int i = 0; i < 6; i++)
        a[i] = x[i] * 0.5;
    x[n % 5] = y[1] * y[2];
    return x[1] - cos(a[n % 5]);
}
