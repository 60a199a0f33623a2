/* Two tangents of arrays: two shadows follow the value. */
#include "selfcheck.h"
static void f(const double *x, double *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = x[i] * x[(i + 1) % n];
}
int main(void)
{
    double x[3] = {1, 2, 3}, a[3] = {1, 0, 0}, b[3] = {0, 1, 0}, y[3], da[3] = {0}, db[3] = {0};
    __enzyme_fwddiff_void((void *)f, enzyme_width, 2, enzyme_dup, x, a, b, enzyme_dup, y, da, db, enzyme_const, 3);
    expect("a", 0, da[0], 2);
    expect("a", 2, da[2], 3);
    expect("b", 0, db[0], 1);
    expect("b", 1, db[1], 3);
    return failures();
}
