// Functions of long double complex numbers, which are passed in memory.
#include <complex.h>
double library_long_double_complex(double *x, int n) {
    long double complex z = x[0] + I * x[1], w = 0.5L * x[2] - I * x[0];
    z = cexpl(z) * csqrtl(z);
    for (int i = 0; i < 2; i++) w = cpowl(w, conjl(z) / 5) + ctanhl(w * x[i + 1]);
    return (double)(creall(z) * cimagl(z) + cabsl(z) + cargl(w) * creall(w));
}
