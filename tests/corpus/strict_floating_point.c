// Constrained floating-point operations.
#pragma STDC FENV_ACCESS ON
#include <math.h>
double strict_floating_point(double *x, int n) {
    double s = 1;
    for (int i = 0; i < n; i++) {
        s = s * x[i] + sin(x[i]) / (s + 2);
        float f = (float)(i + 1);
        s += sqrt((double)f + s) - fma(s, x[i], 1);
        if (s > 10 || x[i] == 0.25) s -= floor(s * 0.01);
    }
    return s;
}
