/* One function allocates, another frees. */
#include "selfcheck.h"
static double *squares(const double *x, int n)
{
    double *y = (double *)malloc(n * sizeof *y);
    for (int i = 0; i < n; i++)
        y[i] = x[i] * x[i];
    return y;
}
static double consume(double *y, int n)
{
    double product = 1;
    for (int i = 0; i < n; i++)
        product *= y[i] + 0.5;
    free(y);
    return product;
}
static double f(const double *x, int n) { return consume(squares(x, n), n) + log(x[0]); }
int main(void) { CHECK_GRADIENT(f, 5); return failures(); }
