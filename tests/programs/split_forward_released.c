/* Forward mode from a tape, of memory that the function released: a shadow may get the address it had. */
#include "selfcheck.h"
void *__enzyme_augmentfwd(void *, ...);
double __enzyme_fwdsplit(void *, ...);
static double f(const double *x, int n)
{
    double *b = (double *)malloc(1000 * sizeof(double)), s = 0;
    for (int i = 0; i < n; i++)
        b[i] = x[i] * x[i];
    for (int i = 0; i < n; i++)
        s += sin(b[i]);
    free(b);
    return s;
}
int main(void)
{
    double x[3], t[3] = {1, 2, 3}, wanted = 0;
    sample(x, 3);
    for (int i = 0; i < 3; i++)
        wanted += t[i] * slope_by(f, 3, i);
    void *tape = __enzyme_augmentfwd((void *)f, enzyme_dup, x, t, 3);
    x[0] = x[1] = x[2] = 50;
    expect("tangent", 0, __enzyme_fwdsplit((void *)f, enzyme_dup, x, t, 3, tape), wanted);
    return failures();
}
