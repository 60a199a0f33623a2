// The complex library.
// z: 3
// n: 3
#include <complex.h>
void complex_functions(double complex *z, int n) {
    z[0] = cexp(z[0]) * csin(z[1]);
    z[1] = csqrt(z[1]) + clog(z[2] + 1);
    z[2] = cabs(z[2]) * carg(z[0]) + creal(z[1]) * I;
}
