/* Forward and reverse sweep apart, with a tape between them. */
#include "selfcheck.h"
void *__enzyme_augmentfwd(void *, ...);
void __enzyme_reverse(void *, ...);
static void f(const double *x, double *y, int n)
{
    double product = 1;
    for (int i = 0; i < n; i++)
        product *= sin(x[i]) + 2;
    *y = product;
}
static double plain(const double *x, int n) { double y; f(x, &y, n); return y; }
int main(void)
{
    double x[4], d[4] = {0}, y = 0, s = 0;
    sample(x, 4);
    void *tape = __enzyme_augmentfwd((void *)f, enzyme_dup, x, d, enzyme_dup, &y, &s, enzyme_const, 4);
    expect("value", 0, y, plain(x, 4));
    s = 1;
    __enzyme_reverse((void *)f, enzyme_dup, x, d, enzyme_dup, &y, &s, enzyme_const, 4, tape);
    for (int i = 0; i < 4; i++)
        expect("reverse", i, d[i], slope_by(plain, 4, i));
    return failures();
}
