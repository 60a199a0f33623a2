#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* Each program checks itself; its status is the number of disagreements. */
extern int enzyme_const, enzyme_dup, enzyme_out, enzyme_primal_return, enzyme_dupnoneed;
double __enzyme_autodiff(void *, ...);
double __enzyme_fwddiff(void *, ...);
long double __enzyme_autodiff_long(void *, ...);
long double __enzyme_fwddiff_long(void *, ...);
void __enzyme_autodiff_void(void *, ...);
void __enzyme_fwddiff_void(void *, ...);
static int failures;
static void near_(const char *what, double got, double expected, double tolerance, int line) {
    if (!(fabs(got - expected) <= tolerance * (1 + fabs(expected)))) {
        printf("line %d, %s: got %.15g, expected %.15g\n", line, what, got, expected);
        failures++;
    }
}
#define CHECK(got, expected) near_(#got, (got), (expected), 1e-10, __LINE__)
#define CHECK_DIFFERENCE(got, expected) near_(#got, (got), (expected), 2e-6, __LINE__)
