// A radix-2 Fourier transform by recursion, with a scratch array in every call.
// x: 16 -1 1
// n: 8
#include <math.h>
static void fft(double *z, int n) {
    if (n == 1) return;
    double even[8], odd[8];
    for (int k = 0; k < n / 2; k++) {
        even[2 * k] = z[4 * k];
        even[2 * k + 1] = z[4 * k + 1];
        odd[2 * k] = z[4 * k + 2];
        odd[2 * k + 1] = z[4 * k + 3];
    }
    fft(even, n / 2);
    fft(odd, n / 2);
    for (int k = 0; k < n / 2; k++) {
        double c = cos(2 * M_PI * k / n), s = -sin(2 * M_PI * k / n);
        double re = c * odd[2 * k] - s * odd[2 * k + 1], im = c * odd[2 * k + 1] + s * odd[2 * k];
        z[2 * k] = even[2 * k] + re;
        z[2 * k + 1] = even[2 * k + 1] + im;
        z[2 * (k + n / 2)] = even[2 * k] - re;
        z[2 * (k + n / 2) + 1] = even[2 * k + 1] - im;
    }
}
void fft_recursive(double *x, int n) {
    fft(x, n);
    for (int i = 0; i < n; i++) {
        double a = x[2 * i], b = x[2 * i + 1];
        x[2 * i] = a * a + b * b;
        x[2 * i + 1] = a * b;
    }
}
