// remquo: the remainder is active, the quotient is an integer.
#include <math.h>
double libm_remquo(double *x, int n) {
    int q;
    double r = remquo(9.1 * x[0] + 3.0, x[1] + 0.5, &q);
    return r * r + (q & 7) * x[2];
}
