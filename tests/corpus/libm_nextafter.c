// Functions of floats that give integers or inspect bits: logb, ilogb, signbit, isnan.
#include <math.h>
double libm_nextafter(double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) {
        if (isnan(x[i]) || isinf(x[i]) || signbit(x[i])) return 0.0;
        s += x[i] * ilogb(x[i] * 8.0) + logb(x[i]) * x[i];
    }
    return s;
}
