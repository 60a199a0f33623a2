/* A radix-2 Fourier transform in place: bit reversal, then butterflies with twiddles by recurrence. Size: points, a power of 2. */
#include "program.h"

static void transform(int n, double *restrict re, double *restrict im)
{
    for (int i = 1, j = 0; i < n; i++) {
        int bit = n >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j) {
            double a = re[i], b = im[i];
            re[i] = re[j], im[i] = im[j];
            re[j] = a, im[j] = b;
        }
    }
    for (int length = 2; length <= n; length <<= 1) {
        double step = -2 * M_PI / length, c = cos(step), s = sin(step);
        for (int i = 0; i < n; i += length) {
            double wr = 1, wi = 0;
            for (int k = i; k < i + length / 2; k++) {
                int l = k + length / 2;
                double a = re[l] * wr - im[l] * wi, b = re[l] * wi + im[l] * wr;
                re[l] = re[k] - a, im[l] = im[k] - b;
                re[k] += a, im[k] += b;
                double next = wr * c - wi * s;
                wi = wr * s + wi * c;
                wr = next;
            }
        }
    }
}

#include "fft.h"
