// long double complex arithmetic.
#include <complex.h>
double long_double_complex(double *x, int n) {
    long double complex z = x[0] + I * x[1];
    for (int i = 0; i < n; i++) z = z * (x[i] + 2 * I) / (z + 3.0L);
    return (double)(creall(z) * cimagl(z));
}
