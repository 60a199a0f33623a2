/* What a benchmark program offers: `setup(size)` makes its inputs, `primal()` runs the objective, `gradient()` its adjoint by
   `__enzyme_autodiff`, and `derivative(&count)` is where that leaves the gradient. Inputs are the same at each call. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

extern int enzyme_const, enzyme_dup, enzyme_dupnoneed, enzyme_out;
#define OBJECTIVE __attribute__((noinline)) static
#define PUBLIC __attribute__((visibility("default")))

#ifdef PRIMAL /* the objective alone, as any compiler builds it */
#define __enzyme_autodiff(...) ((void)0)
#else
void __enzyme_autodiff(void *, ...);
#endif

PUBLIC void setup(int size);
PUBLIC double primal(void);
PUBLIC void gradient(void);
PUBLIC double *derivative(int *count);

/* Memory for a gradient, which is there before memory is measured: it is the caller's, whoever computes the gradient. */
static inline void *fresh(void *old, size_t bytes)
{
    return memset(realloc(old, bytes), 0, bytes);
}

/* Numbers in [0, 1) that are the same everywhere. */
static inline double noise(unsigned long n)
{
    n = (n + 1) * 0x9E3779B97F4A7C15UL;
    n = (n ^ (n >> 30)) * 0xBF58476D1CE4E5B9UL;
    n = (n ^ (n >> 27)) * 0x94D049BB133111EBUL;
    return (double)((n ^ (n >> 31)) >> 11) * 0x1p-53;
}
