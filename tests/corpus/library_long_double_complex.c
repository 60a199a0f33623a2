// Functions of long double complex numbers, which are passed in memory.
#include <complex.h>
double library_long_double_complex(double *x, int n) {
    long double complex z = x[0] + I * x[1];
    z = cexpl(z) * csqrtl(z);
    return (double)(creall(z) * cimagl(z) + cabsl(z));
}
