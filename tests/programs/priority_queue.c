/* A heap in an array: numbers sink and rise. */
#include "selfcheck.h"
static void sink(double *h, int n, int i)
{
    for (int c; (c = 2 * i + 1) < n; i = c) {
        if (c + 1 < n && h[c + 1] > h[c])
            c++;
        if (h[i] >= h[c])
            return;
        double t = h[i];
        h[i] = h[c];
        h[c] = t;
    }
}
static double f(const double *x, int n)
{
    double h[16], sum = 0;
    memcpy(h, x, n * sizeof *h);
    for (int i = n / 2; i-- > 0;)
        sink(h, n, i);
    for (int left = n, k = 1; left > 0; k++) {
        sum += k * h[0] * h[0];
        h[0] = h[--left];
        sink(h, left, 0);
    }
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 7); return failures(); }
