/* Everything in floats: compared at a precision that floats have. */
#include "selfcheck.h"
static float g(const float *x, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += sinf(x[i]) * x[(i + 1) % n] + sqrtf(x[i]);
    return sum;
}
int main(void)
{
    float x[4] = {0.5f, 1.0f, 1.5f, 0.8f}, d[4] = {0};
    __enzyme_autodiff_void((void *)g, enzyme_dup, x, d, enzyme_const, 4);
    for (int i = 0; i < 4; i++)
        expect_within("g", i, d[i], cos(x[i]) * x[(i + 1) % 4] + sin(x[(i + 3) % 4]) + 0.5 / sqrt(x[i]), 1e-5);
    return failures();
}
