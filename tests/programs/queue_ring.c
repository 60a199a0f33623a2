/* A ring buffer: indices wrap around, old numbers are overwritten. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double ring[3] = {0}, sum = 0;
    for (int i = 0; i < 3 * n; i++) {
        double old = ring[i % 3];
        ring[i % 3] = x[i % n] * 0.5 + old * 0.3;
        sum += ring[(i + 1) % 3] * old;
    }
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
