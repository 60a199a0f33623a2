// Complex numbers of float, which travel as vectors of two.
// z: 3
// n: 3
#include <complex.h>
static __attribute__((noinline)) float complex g(float complex a, float complex b) { return a * b + conjf(a); }
void float_complex(float complex *z, int n) {
    for (int i = 0; i + 1 < n; i++) z[i + 1] = g(z[i], z[i + 1]) / (z[0] + 2.0f);
}
