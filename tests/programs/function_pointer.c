/* The function is chosen while the program runs. */
#include "selfcheck.h"
static double square(double x) { return x * x; }
static double cube(double x) { return x * x * x; }
static double inverse(double x) { return 1 / x; }
static double (*const table[3])(double) = {square, cube, inverse};
static double f(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += table[i % 3](x[i]) * (x[i] > 1 ? table[2] : sin)(x[0]);
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 6); return failures(); }
