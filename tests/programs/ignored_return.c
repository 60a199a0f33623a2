/* enzyme_const_return: only what is written counts. enzyme_noret says that the value is not wanted; its derivative is. */
#include "selfcheck.h"
extern int enzyme_dup_return;
typedef struct { double value, slope; } both;
both __enzyme_autodiff_both(void *, ...);
typedef struct { void *tape; double value; } kept;
kept __enzyme_augmentfwd(void *, ...);
double __enzyme_reverse(void *, ...);
typedef struct { double a, b, c; } three;
static double square(double x) { return x * x; }
static three powers(double x) { return (three){x, x * x, x * x * x}; } /* through memory */
static double f(const double *x, double *y)
{
    *y = x[0] * x[0];
    return x[0] * 1000;
}
int main(void)
{
    double x = 3, d = 0, y, s = 1;
    __enzyme_autodiff_void((void *)f, enzyme_const_return, enzyme_dup, &x, &d, enzyme_dup, &y, &s);
    expect("by memory alone", 0, d, 6);
    d = 0, s = 1;
    __enzyme_autodiff_void((void *)f, enzyme_noret, enzyme_dup, &x, &d, enzyme_dup, &y, &s);
    expect("with what is returned", 1, d, 6 + 1000);
    /* The activity of the return is another thing: all of them go together with enzyme_noret. */
    expect("forward", 2, __enzyme_fwddiff((void *)square, enzyme_noret, enzyme_dup, 3.0, 1.0), 6);
    expect("forward", 3, __enzyme_fwddiff((void *)square, &enzyme_dup_return, &enzyme_noret, enzyme_dup, 3.0, 1.0), 6);
    expect("reverse", 4, __enzyme_autodiff((void *)square, enzyme_noret, enzyme_out, 3.0), 6);
    expect("reverse", 5, __enzyme_autodiff((void *)square, &enzyme_active_return, &enzyme_noret, enzyme_out, 3.0), 6);
    expect("constant", 6, __enzyme_autodiff((void *)square, enzyme_const_return, enzyme_noret, enzyme_out, 3.0), 0);
    both b = __enzyme_autodiff_both((void *)square, enzyme_noret, enzyme_primal_return, enzyme_out, 3.0);
    expect("value", 7, b.value, 9);
    expect("slope", 8, b.slope, 6);
    kept k = __enzyme_augmentfwd((void *)square, enzyme_noret, enzyme_out, 3.0);
    expect("split", 9, __enzyme_reverse((void *)square, enzyme_noret, enzyme_out, 3.0, 10.0, k.tape), 60);
    expect("in memory", 10, __enzyme_autodiff((void *)powers, enzyme_noret, enzyme_out, 2.0), 1 + 4 + 12);
    return failures();
}
