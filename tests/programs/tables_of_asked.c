/* Derivatives of functions that stand in constant tables, at a known place or at one found as the program runs; an alias. */
#include "selfcheck.h"
static double square(double x) { return x * x; }
static double exp_of(double x) { return exp(x); }
static double cube(double x) { return x * x * x; }
double fourth(double x) { return x * x * x * x; }
double other_name(double x) __attribute__((alias("fourth")));
static double sum(const double *x, int n) { return x[0] * x[n - 1]; }
static double (*const table[])(double) = {square, exp_of, cube};
static const struct { int order; void *which; const char *name; } records[] = {
    {0, (void *)sum, "sum"}, {1, (void *)cube, "cube"}, {2, (void *)square, "square"}
};
int main(void)
{
    double x[2] = {3, 5}, d[2] = {0};
    for (int i = 0; i < 3; i += 2)
        expect("table", i, __enzyme_autodiff((void *)table[i], 2.0), i ? 12 : 4);
    expect("place", 2, __enzyme_fwddiff((void *)table[2], 2.0, 1.0), 12);
    __enzyme_autodiff_void(records[0].which, enzyme_dup, x, d, enzyme_const, 2);
    expect("record", 0, d[0], 5);
    expect("record", 1, __enzyme_autodiff(records[1].which, 2.0), 12);
    expect("alias", 0, __enzyme_autodiff((void *)other_name, 2.0), 32);
    return failures();
}
