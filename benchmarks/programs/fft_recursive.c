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
