/* Floats that C promotes to double in a call without prototype. */
#include "selfcheck.h"
float __enzyme_autodiff_float(void *, ...);
static float f(float x, short n) { return x * x * (float)n; }
int main(void)
{
    expect_within("float", 0, __enzyme_autodiff_float((void *)f, 3.0f, (short)5), 30, 1e-6);
    return failures();
}
