#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each program says what it expects, by finite differences or by hand; its status is the number of disagreements. */
static int failures;

#define CHECK(got, expected) near_((got), (expected), 1e-12, __LINE__)
#define CHECK_DIFFERENCE(got, expected) near_((got), (expected), 1e-6, __LINE__)

static void near_(double got, double expected, double tolerance, int line) {
    if (!(fabs(got - expected) <= tolerance * (1 + fabs(expected)))) {
        printf("line %d: got %.15g, expected %.15g\n", line, got, expected);
        failures++;
    }
}

extern int enzyme_const, enzyme_dup, enzyme_dupnoneed, enzyme_out, enzyme_dupv, enzyme_dupnoneedv, enzyme_width,
    enzyme_primal_return, enzyme_const_return, enzyme_active_return, enzyme_dup_return, enzyme_noret, enzyme_interleave,
    enzyme_byref, enzyme_not_overwritten, enzyme_strong_zero, enzyme_runtime_activity, enzyme_nofree, enzyme_allocated,
    enzyme_tape, enzyme_vector, enzyme_scalar;

typedef struct { double a, b; } two;
typedef struct { double a, b, c; } three;
typedef struct { float a, b; } twof;

double __enzyme_autodiff(void *, ...);
void __enzyme_autodiff_void(void *, ...);
float __enzyme_autodiff_float(void *, ...);
two __enzyme_autodiff_two(void *, ...);
three __enzyme_autodiff_three(void *, ...);
twof __enzyme_autodiff_twof(void *, ...);
double __enzyme_fwddiff(void *, ...);
void __enzyme_fwddiff_void(void *, ...);
two __enzyme_fwddiff_two(void *, ...);
three __enzyme_fwddiff_three(void *, ...);
void *__enzyme_augmentfwd(void *, ...);
