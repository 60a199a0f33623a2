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

OBJECTIVE void objective(int n, double *restrict re, double *restrict im, double *restrict out)
{
    transform(n, re, im);
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (re[i] * re[i] + im[i] * im[i]) * (1 + 0.5 * (i % 7)) + re[i];
    *out = sum / n;
}

static double *x, *work, *d_x;
static int n;

void setup(int size)
{
    n = size;
    x = realloc(x, 2 * n * sizeof *x);
    work = realloc(work, 2 * n * sizeof *x);
    d_x = realloc(d_x, 2 * n * sizeof *x);
    for (int i = 0; i < 2 * n; i++) x[i] = noise(i) - 0.5;
}

double primal(void)
{
    double out;
    memcpy(work, x, 2 * n * sizeof *x);
    objective(n, work, work + n, &out);
    return out;
}

void gradient(void)
{
    double out, seed = 1;
    memcpy(work, x, 2 * n * sizeof *x);
    memset(d_x, 0, 2 * n * sizeof *x);
    __enzyme_autodiff((void *)objective, enzyme_const, n, enzyme_dup, work, d_x, enzyme_dup, work + n, d_x + n,
                      enzyme_dup, &out, &seed);
}

double *derivative(int *count) { return *count = 2 * n, d_x; }
