/* Routines that derivatives call in place of the library's, to be differentiated like any code; integers have 32 bits.
 *
 * Those of LAPACK are compositions of BLAS routines, which have rules: blocked algorithms, whose derivatives are blocked too
 * (Murray 2016: Differentiation of the Cholesky decomposition). They do what the library's do, `info` included.
 * Those of BLAS that have no rules are loops: band and packed matrices, complex numbers.
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
#define CBLAS(name) NAMED(llgrad_lapack_cblas_, LETTER, name)
#define Z(name) NAMED(llgrad_lapack_own_, COMPLEX, name)
#define ZF(name) NAMED(llgrad_lapack_, COMPLEX, name##_)
#define ZC(name) NAMED(llgrad_lapack_cblas_, COMPLEX, name)
#define REAL_F(name) NAMED(llgrad_lapack_, RETURNS, name##_)
#define REAL_C(name) NAMED(llgrad_lapack_cblas_, RETURNS, name)
#define MIXED_F(name) NAMED(llgrad_lapack_, MIXED, name##_)
#define MIXED_C(name) NAMED(llgrad_lapack_cblas_, MIXED, name)

enum { ROWS = 101, COLUMNS = 102 };
enum { FACTORS, CHOLESKY, TRIANGLE };  /* of a matrix whose condition number is asked for */
enum { GENERAL, POSITIVE, BANDED };  /* of a system for an expert driver */
static inline int is(char c, char upper) { return (c & ~32) == upper; }

#define T double
#define LETTER d
#define COMPLEX z
#define RETURNS dz
#define MIXED zd
#include "lapack.h"
#include "orthogonal.h"
#include "norms.h"
#include "banded.h"
#include "expert.h"
#include "spectrum.h"
#include "singular.h"
#include "general.h"
#include "indefinite.h"
#include "ranks.h"
#include "band.h"
#include "complex.h"
#include "complex_factors.h"
#include "complex_spectrum.h"
#undef T
#undef LETTER
#undef COMPLEX
#undef RETURNS
#undef MIXED
#define T float
#define LETTER s
#define COMPLEX c
#define RETURNS sc
#define MIXED cs
#include "lapack.h"
#include "orthogonal.h"
#include "norms.h"
#include "banded.h"
#include "expert.h"
#include "spectrum.h"
#include "singular.h"
#include "general.h"
#include "indefinite.h"
#include "ranks.h"
#include "band.h"
#include "complex.h"
#include "complex_factors.h"
#include "complex_spectrum.h"
