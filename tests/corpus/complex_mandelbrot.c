// Complex iteration that escapes.
// z: 2 -0.5 0.9
#include <complex.h>
double complex_mandelbrot(double complex *z, int n) {
    double complex v = 0;
    int k = 0;
    while (k < 50 && creal(v) * creal(v) + cimag(v) * cimag(v) < 16) {
        v = v * v + z[k % 2];
        k++;
    }
    return creal(v) * cimag(v);
}
