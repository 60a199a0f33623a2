// The long double family of libm.
#include <math.h>
void libm_long_double(long double *x, int n, long double *y, int m) {
    y[0] = sinl(x[0]) * expl(x[1]) + logl(x[2] + 1.0L);
    y[1] = sqrtl(x[3]) + powl(x[4], x[5]) + fabsl(x[0] - 2.0L);
    y[2] = tanhl(x[1]) / coshl(x[2]) + hypotl(x[3], x[4]);
    y[3] = atan2l(x[5], x[0]) * erfl(x[1]);
}
