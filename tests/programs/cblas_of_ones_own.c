/* A program's own functions with names of BLAS and other bodies: differentiated as they are written. */
#include "selfcheck.h"
double cblas_ddot(int n, const double *x, int incx, const double *y, int incy)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i * incx] * y[i * incy] * y[i * incy];
    return sum;
}
void daxpy_(const int *n, const double *alpha, const double *x, const int *incx, double *y, const int *incy)
{
    for (int i = 0; i < *n; i++) y[i * *incy] += *alpha * *alpha * x[i * *incx];
}
static double f(const double *x, int n)
{
    double y[8] = {0};
    int one = 1;
    daxpy_(&n, x, x, &one, y, &one);
    return cblas_ddot(n, x, 1, y, 1);
}
int main(void)
{
    CHECK_GRADIENT(f, 4);
    return failures();
}
