/* Many small adjoints of one number of 16 bits: in its own format 2048 + 1 is 2048. */
#include "selfcheck.h"
_Float16 __enzyme_autodiff_half(void *, ...);
float __enzyme_autodiff_float(void *, ...);
static float given(_Float16 x, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += (float)x;
    return sum;
}
static float rounded(float y, int n) { return given((_Float16)y, n); }
int main(void)
{
    double half = (double)__enzyme_autodiff_half((void *)given, enzyme_out, (_Float16)0.5, enzyme_const, 4096);
    expect_within("half", 0, half, 4096, 1e-3);
    expect_within("rounded", 0, __enzyme_autodiff_float((void *)rounded, 0.5f, enzyme_const, 4096), 4096, 1e-3);
    return failures();
}
