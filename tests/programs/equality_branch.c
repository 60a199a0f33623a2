/* A branch on equality keeps its derivative at every level. */
#include "selfcheck.h"
static double f(double x)
{
    if (x == 3.0)
        return x * x;
    return 2 * x;
}
int main(void)
{
    expect("equal", 0, __enzyme_autodiff((void *)f, 3.0), 6);
    expect("other", 0, __enzyme_autodiff((void *)f, 4.0), 2);
    expect("equal, forward", 0, __enzyme_fwddiff((void *)f, 3.0, 1.0), 6);
    return failures();
}
