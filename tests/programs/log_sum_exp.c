/* The stable logarithm of a sum of exponentials. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double most = x[0], sum = 0;
    for (int i = 1; i < n; i++)
        most = x[i] > most ? x[i] : most;
    for (int i = 0; i < n; i++)
        sum += exp(x[i] - most);
    return most + log(sum);
}
int main(void) { CHECK_GRADIENT(f, 6); return failures(); }
