/* Markers by address; suffixes of the functions' names. */
#include "selfcheck.h"
double __enzyme_autodiff_of_something(void *, ...);
static double f(double a, double b) { return a * a * b; }
int main(void)
{
    expect("a", 0, __enzyme_autodiff_of_something((void *)f, &enzyme_out, 3.0, &enzyme_const, 5.0), 30);
    return failures();
}
