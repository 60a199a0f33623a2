/* Integers made of floats and back carry no derivative. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        int whole = (int)(x[i] * 10);
        sum += (whole % 3) * x[i] + (double)(whole & 1) + floor(x[i] * 2) * x[i];
    }
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 7); return failures(); }
