/* Functions of libm of several arguments or results. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    int e;
    double whole, part = modf(x[0] * 3, &whole), mantissa = frexp(x[1], &e);
    double sum = part * part + mantissa * e + ldexp(x[2], 3) + pow(x[0], x[1]) + atan2(x[2], x[3]) + hypot(x[0], x[3]);
    sum += fmod(x[3] * 5, 2) * x[0] + fmax(x[0], x[1]) * fmin(x[2], x[3]) + fma(x[0], x[1], x[2]) + fdim(x[3], x[0]);
    return sum + copysign(x[1], -x[2]) + n * 0;
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
