/* Functions of libm that are differentiated themselves, chosen from tables, and in derivatives of derivatives. */
#include "selfcheck.h"
float __enzyme_autodiff_float(void *, ...);
static double (*const table[])(double) = {sin, cos, tgamma};
static double tabulated(int which, double x) { return __enzyme_autodiff((void *)table[which], x); }
static double square(double x) { return x * x; }
static double chosen(int which, double x) { return __enzyme_autodiff(which ? (void *)exp : (void *)square, x); }
static double sloped(double x) { return __enzyme_autodiff((void *)sin, x) * x; }
static double through_table(double x)
{
    double sum = 0;
    for (int i = 0; i < 3; i++)
        sum += table[i](x + 1) * __enzyme_fwddiff((void *)square, x, 1.0);
    return sum;
}
static double steep(double x) { return __enzyme_autodiff((void *)through_table, x); }
int main(int argc, char **argv)
{
    int one = argc > 0;
    expect("table", 0, tabulated(one - 1, 0.5), cos(0.5));
    expect("table", 1, tabulated(one, 0.5), -sin(0.5));
    expect("chosen", 0, chosen(one - 1, 2.0), 4.0);
    expect("chosen", 1, chosen(one, 2.0), exp(2.0));
    expect("pow", 0, __enzyme_fwddiff((void *)pow, 2.0, 1.0, enzyme_const, 3.0), 12.0);
    expect("fabs", 0, __enzyme_autodiff((void *)fabs, -2.0), -1.0);
    expect_within("sinf", 0, __enzyme_autodiff_float((void *)sinf, 0.5f), cos(0.5), 1e-6);
    CHECK_SLOPE(sloped, 0.5);
    CHECK_SLOPE(through_table, 0.5);
    CHECK_SLOPE(steep, 0.5);
    return failures();
}
