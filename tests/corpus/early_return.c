// Returns from several places.
#include <math.h>
double early_return(double *x, int n) {
    if (x[0] > 10.0) return x[0];
    double s = sin(x[0]);
    if (n < 3) return s;
    s *= x[1];
    if (s < 2.0) return s * x[2];
    return s + x[3];
}
