/* A guard against division by zero that is not taken here. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        double d = x[i] - x[(i + 1) % n];
        sum += fabs(d) > 1e-12 ? sin(d) / d : 1;
    }
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 5); return failures(); }
