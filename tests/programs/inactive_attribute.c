/* The same, said where the function is defined. */
#include "selfcheck.h"
__attribute__((noinline, annotate("enzyme_inactive"))) double half_of(double x) { return x / 2; }
static double f(double x) { return half_of(x) * x; }
int main(void)
{
    expect("only one factor is active", 0, __enzyme_autodiff((void *)f, 3.0), 1.5);
    return failures();
}
