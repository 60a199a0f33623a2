/* Results through several pointers, one of them optional. */
#include "selfcheck.h"
static void g(double a, double b, double *sum, double *product)
{
    *sum = a + b;
    if (product)
        *product = a * b;
}
static void f(const double *x, double *y)
{
    double s, p;
    g(x[0], x[1], &s, &p);
    g(s, p, y, 0);
    g(s, x[2], y + 1, y + 2);
}
int main(void) { CHECK_MAP(f, 3, 3); return failures(); }
