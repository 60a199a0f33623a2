/* Numbers kept in 16 bits, computed with in 32. */
#include "selfcheck.h"
static float f(const _Float16 *x, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += (float)x[i] * (float)x[i];
    return sum;
}
int main(void)
{
    _Float16 x[3] = {(_Float16)1, (_Float16)2, (_Float16)0.5}, d[3] = {0, 0, 0};
    __enzyme_autodiff_void((void *)f, enzyme_dup, x, d, enzyme_const, 3);
    for (int i = 0; i < 3; i++)
        expect_within("half", i, (double)d[i], 2 * (double)x[i], 1e-3);
    return failures();
}
