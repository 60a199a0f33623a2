/* Floats and integers of four bytes in one place. */
#include "selfcheck.h"
struct value { char tag; union { float f; int i; unsigned char bytes[4]; } u; };
static double f(const double *x, int n)
{
    struct value v[5], w[5];
    for (int i = 0; i < n; i++) {
        v[i].tag = (char)(i % 2);
        if (v[i].tag)
            v[i].u.f = (float)i * 0.5f;
        else
            v[i].u.i = i;
    }
    for (int i = 0; i < n; i++)
        if (v[i].tag)
            v[i].u.f *= (float)x[i];
    memcpy(w, v, sizeof w);
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += (w[i].tag ? 2.0 * w[i].u.f : (double)w[i].u.i) * 0.5;
    return sum;
}
int main(void)
{
    double x[5], d[5] = {0}, t[5] = {0, 0, 0, 1, 0};
    sample(x, 5);
    __enzyme_autodiff_void((void *)f, enzyme_dup, x, d, enzyme_const, 5);
    for (int i = 0; i < 5; i++)
        expect("reverse", i, d[i], i % 2 ? 0.5 * i : 0);
    expect("forward", 3, __enzyme_fwddiff((void *)f, enzyme_dup, x, t, enzyme_const, 5), 1.5);
    return failures();
}
