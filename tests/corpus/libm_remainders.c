// fmod, remainder, modf, frexp, ldexp, scalbn: smooth between their jumps.
#include <math.h>
void libm_remainders(double *x, int n, double *y, int m) {
    double whole;
    int e;
    y[0] = fmod(7.3 * x[0] + 5.0, 0.91) + remainder(x[1] * 9.7 + 4.0, 0.83);
    y[1] = modf(3.7 * x[2] + 2.0, &whole) * whole;
    y[2] = frexp(x[3] * 3.0, &e) * e;
    y[3] = ldexp(x[4], e + 2) + scalbn(x[5], -1);
}
