/* A recursive Fourier transform: each call makes two halves on the heap. Size: points, a power of 2. */
#include "program.h"

static void transform(int n, double *restrict re, double *restrict im)
{
    if (n == 1) return;
    int half = n / 2;
    double *part = malloc(2 * n * sizeof *part), *even_im = part + half, *odd_re = part + n, *odd_im = odd_re + half;
    for (int i = 0; i < half; i++) {
        part[i] = re[2 * i], even_im[i] = im[2 * i];
        odd_re[i] = re[2 * i + 1], odd_im[i] = im[2 * i + 1];
    }
    transform(half, part, even_im);
    transform(half, odd_re, odd_im);
    double c = cos(-2 * M_PI / n), s = sin(-2 * M_PI / n), wr = 1, wi = 0;
    for (int k = 0; k < half; k++) {
        double a = odd_re[k] * wr - odd_im[k] * wi, b = odd_re[k] * wi + odd_im[k] * wr;
        re[k] = part[k] + a, im[k] = even_im[k] + b;
        re[k + half] = part[k] - a, im[k + half] = even_im[k] - b;
        double next = wr * c - wi * s;
        wi = wr * s + wi * c;
        wr = next;
    }
    free(part);
}

#include "fft.h"
