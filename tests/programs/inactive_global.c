/* Globals that hold parameters, not results: a table and a setting. */
#include "selfcheck.h"
static const double table[4] = {1, -2, 0.5, 3};
double setting = 2.5;
static double f(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += table[i % 4] * pow(x[i], setting);
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 6); setting = 1.5; CHECK_GRADIENT(f, 6); return failures(); }
