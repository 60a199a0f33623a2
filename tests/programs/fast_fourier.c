/* A recursive Fourier transform with strides. */
#include "selfcheck.h"
static void fft(const double *x, double *re, double *im, int n, int stride)
{
    if (n == 1) {
        re[0] = x[0];
        im[0] = 0;
        return;
    }
    double er[8], ei[8], or[8], oi[8];
    fft(x, er, ei, n / 2, 2 * stride);
    fft(x + stride, or, oi, n / 2, 2 * stride);
    for (int k = 0; k < n / 2; k++) {
        double c = cos(-2 * 3.14159265358979 * k / n), s = sin(-2 * 3.14159265358979 * k / n);
        double tr = c * or[k] - s * oi[k], ti = c * oi[k] + s * or[k];
        re[k] = er[k] + tr, im[k] = ei[k] + ti;
        re[k + n / 2] = er[k] - tr, im[k + n / 2] = ei[k] - ti;
    }
}
static double f(const double *x, int n)
{
    double re[16], im[16], sum = 0;
    fft(x, re, im, n, 1);
    for (int k = 0; k < n; k++)
        sum += (re[k] * re[k] + im[k] * im[k]) * (k % 3 + 1);
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 8); return failures(); }
