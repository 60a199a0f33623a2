/* The same output is written twice, read in between. */
#include "selfcheck.h"
static void f(const double *x, double *y)
{
    y[0] = x[0] * x[1];
    y[1] = y[0] * x[2];
    y[0] = y[1] + x[0];
}
int main(void) { CHECK_MAP(f, 3, 2); return failures(); }
