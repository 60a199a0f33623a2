/* Infinities in parts that are not taken, NaN in none. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double best = INFINITY, sum = 0;
    for (int i = 0; i < n; i++) {
        if (x[i] < best)
            best = x[i];
        sum += isfinite(best) ? best * x[i] : 0;
    }
    return sum;
}
static double cubes(const double *x, int n)
{
    double w[8], sum = 0;
    for (int i = 0; i < n; i++)
        w[i] = i % 2 ? INFINITY : i == 4 ? NAN : i + 1;
    for (int i = 0; i < n; i++) {
        double q = x[i];
        if (w[i] <= 3) { /* computed ahead of the condition, when optimised */
            double p = x[i] * w[i];
            q = p * p * p;
        }
        sum += q * x[0];
    }
    return sum;
}
int main(void)
{
    CHECK_GRADIENT(f, 5);
    CHECK_EVERY_WAY(cubes, 6);
    return failures();
}
