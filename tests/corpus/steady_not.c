// What looks the same in each iteration of a loop around, and is not: written there, in other memory, of other length.
// x: 16 0.2 1.1
// n: 4
// y: 3
// m: 3
#include <math.h>
static __attribute__((noinline)) void scale(double *p, double by) { *p *= 1 + 0.1 * by * *p; }
void steady_not(const double *restrict x, int n, double *restrict y, int m) {
    double h[8], other[8], *now = h, *next = other;
    for (int i = 0; i < n; i++) h[i] = x[i], other[i] = x[n + i];
    for (int t = 0; t < m; t++) {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) h[i] += 0.1 * h[j] * h[j] * x[i * n + j];
        for (int i = 0; i < n; i++) {
            double sum = 0;
            for (int j = 0; j < n; j++) sum += sin(now[j]) * now[j] * x[j];
            next[i] = sum * 0.3;
            double *swapped = now;
            now = next, next = swapped;
        }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) other[(i + 1) % n] += 0.2 * h[(i + j) % n] * h[(i + j) % n];
        for (int i = 0; i < n; i++)
            for (int j = 0; j <= i; j++) h[j] = 0.4 * h[j] * h[j] + x[i];
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++) y[t] += h[j] * h[j] * x[i];
            scale(h + i, x[i]);
        }
        for (int i = 0; i < n; i++) {
            double left = 2;
            for (int j = 0; left > 0; j++) {
                y[t] += exp(-h[j % n]) * h[j % n] * x[i];
                left -= 0.3 + 0.2 * (x[i] > 0.6);
            }
            h[0] += 0.1 * h[1];
        }
        for (int i = 0; i < n; i++) h[i] = 0.5 * tanh(h[i] + other[i]);
    }
}
