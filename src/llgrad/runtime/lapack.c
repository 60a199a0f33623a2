/* Routines of LAPACK as compositions of BLAS routines, which have rules: blocked algorithms, whose derivatives are blocked
 * too (Murray 2016: Differentiation of the Cholesky decomposition). A program that is differentiated calls these in place
 * of the library's. They do what the library's do, `info` included, with integers of 32 bits.
 */
void *malloc(unsigned long), free(void *);

#define BLOCK 32
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define MOST(a, b) ((a) > (b) ? (a) : (b))
#define AT(a, lda, i, j) ((a) + (i) + (long)(j) * (lda))
#define JOINED(a, b, c) a##b##c
#define NAMED(a, b, c) JOINED(a, b, c)
#define BLAS(name) NAMED(LETTER, name, _)
#define OWN(name) NAMED(llgrad_lapack_, LETTER, name)
#define FORTRAN(name) NAMED(llgrad_lapack_, LETTER, name##_)
#define LAPACKE(name) NAMED(llgrad_lapack_LAPACKE_, LETTER, name)

enum { ROWS = 101, COLUMNS = 102 };
static inline int is(char c, char upper) { return (c & ~32) == upper; }

#define T double
#define LETTER d
#include "lapack.h"
#undef T
#undef LETTER
#define T float
#define LETTER s
#include "lapack.h"
