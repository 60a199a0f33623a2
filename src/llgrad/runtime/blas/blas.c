/* Derivatives of BLAS routines, as compositions of BLAS routines (Giles 2008: Collected matrix derivative results).
 *
 * A routine is called by value here, column-major, with flags that are 0 or 1: transposed, upper, unit, left. Behind
 * each pointer stands its shadow, which is the pointer itself where memory is constant; behind each float a pointer to
 * its tangent or adjoint, null where it is constant. Of a routine `f` there are, as far as they have something to do:
 *
 *   f_size     how many floats the reverse sweep wants kept: what it reads and `flags` say may have changed by then
 *   f_keep     keeps them, before the routine is called
 *   f_kept     keeps of what the routine has written, after the call
 *   f_reverse  the reverse sweep, with the adjoint of the result last
 *   f_before   the tangents of what the routine will overwrite, before it is called
 *   f_after    the tangents that want its result, after the call; returns the tangent of the result
 *
 * Bit n of `flags` speaks of the memory of the n-th pointer. Vectors lie in logical order where they are kept, so that
 * negative increments need no thought; matrices are kept whole or as a triangle, without gaps.
 */
#define long __INT64_TYPE__
void *malloc(unsigned long), free(void *);

typedef struct { long at[3], size; } places; /* -1: not kept */

static inline places layout(int a, long na, int b, long nb, int c, long nc) {
    places k;
    long end = 0;
    k.at[0] = a ? end : -1, end += a ? na : 0;
    k.at[1] = b ? end : -1, end += b ? nb : 0;
    k.at[2] = c ? end : -1, end += c ? nc : 0;
    k.size = end;
    return k;
}

static inline long times(long m, long n) { return m > 0 && n > 0 ? m * n : 0; }
static inline long at(long i, long n, long inc) { return inc < 0 ? (i - n + 1) * inc : i * inc; }

/* Rows of column j: all, or those of a triangle, without its diagonal if that is all ones. */
enum { LOWER, UPPER, WHOLE };
static inline long first(int part, int unit, long j) { return part == LOWER ? j + unit : 0; }
static inline long last(int part, int unit, long j, long m) { return part == UPPER ? j + 1 - unit : m; }
#define EACH(i, j, part, unit, m, n) \
    for (long j = 0; j < (n); j++) \
        for (long i = first(part, unit, j), end = last(part, unit, j, m); i < end; i++)

#define CHANGES(n) (flags >> (n) & 1)
#define JOINED(a, b) a##b
#define CALLED(letter, name) JOINED(llgrad_blas_##letter, name)

#define T double
#define F(name) CALLED(d, name)
#include "blas.h"
#undef T
#undef F
#define T float
#define F(name) CALLED(s, name)
#include "blas.h"
