// Complex products and quotients.
// z: 3
// n: 3
#include <complex.h>
void complex_arithmetic(double complex *z, int n) {
    double complex s = 1;
    for (int i = 0; i < n; i++) {
        s = s * z[i] + z[(i + 1) % n] / (s + 2);
        z[i] = s * conj(z[i]);
    }
}
