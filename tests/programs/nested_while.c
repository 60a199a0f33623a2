/* Loops within loops, all with ends that depend on the data. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double total = 0;
    for (int i = 0; i < n; i++) {
        double a = x[i];
        while (a < 4) {
            double b = a;
            do {
                b = b * 0.7 + 0.1;
                total += b * b;
            } while (b > 0.6);
            a = a * 1.8 + 0.3;
        }
        total += a;
    }
    return total;
}
int main(void) { CHECK_GRADIENT(f, 3); return failures(); }
