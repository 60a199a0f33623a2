/* Split mode of a function that returns a number: {tape, value}, then a seed before the tape. */
#include "selfcheck.h"
struct kept { void *tape; double value; };
struct kept __enzyme_augmentfwd(void *, ...);
double __enzyme_reverse(void *, ...);
static double f(double x) { return x * x * exp(x); }
int main(void)
{
    struct kept k = __enzyme_augmentfwd((void *)f, enzyme_out, 0.7);
    expect("value", 0, k.value, f(0.7));
    expect("reverse", 0, __enzyme_reverse((void *)f, enzyme_out, 0.7, 2.0, k.tape), 2 * slope(f, 0.7));
    return failures();
}
