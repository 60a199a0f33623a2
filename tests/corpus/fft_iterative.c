// A Fourier transform in place: bit reversal, then butterflies.
// x: 16 -1 1
// n: 8
#include <math.h>
void fft_iterative(double *x, int n) {
    for (int i = 1, j = 0; i < n; i++) {
        int bit = n >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j)
            for (int c = 0; c < 2; c++) {
                double t = x[2 * i + c];
                x[2 * i + c] = x[2 * j + c];
                x[2 * j + c] = t;
            }
    }
    for (int len = 2; len <= n; len <<= 1)
        for (int i = 0; i < n; i += len)
            for (int k = 0; k < len / 2; k++) {
                double c = cos(2 * M_PI * k / len), s = -sin(2 * M_PI * k / len);
                double *u = x + 2 * (i + k), *v = x + 2 * (i + k + len / 2);
                double re = v[0] * c - v[1] * s, im = v[0] * s + v[1] * c;
                v[0] = u[0] - re;
                v[1] = u[1] - im;
                u[0] += re;
                u[1] += im;
            }
    for (int i = 0; i < 2 * n; i++) x[i] *= x[i];
}
