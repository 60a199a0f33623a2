/* Derivatives of MPI functions: rules as a user writes them, compiled with the program's own mpi.h.
 *
 * The rule of MPI_NAME is __llgrad_NAME_forward, which returns its value and a tangent that nobody looks at, and
 * __llgrad_NAME_augmented and __llgrad_NAME_reverse. Each of these but the last calls the function itself.
 *
 * Behind each pointer argument stands its shadow, which is the pointer itself where memory is constant. Handles are
 * pointers in Open MPI, which have such a shadow too, and integers in MPICH, which have none: `H` declares either.
 *
 * A message that holds floats has a derivative message: the tangents go the same way after it, the adjoints go back
 * in the reverse sweep. Both ranks decide so by the datatype alone, so that none waits for what no one sends; constant
 * memory sends zeros and drops what comes. A derivative message is the floats of the message, in the order of its type
 * map, as an array of one type (`wire`). It has tags above all of the program's.
 */
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef OPEN_MPI
#define H(T, x) T x, T x##_shadow
#else
#define H(T, x) T x
#endif
#define P(T, x) T *x, T *x##_d /* a pointer and its shadow */

typedef struct { void *tape; int code; } kept;   /* what an augmented function returns */
typedef struct { int code, tangent; } moved;     /* what a function in forward mode returns */
/* Augmented functions whose reverse is to come: until there is none, no datatype and no communicator goes that the
 * program has freed. */
static long live;
static kept keep(void *tape, int code) { kept k = {tape, code}; live++; return k; }
static void gone(void);
static moved done(int code) { moved m = {code, 0}; return m; }

#include "types.h"
#include "messages.h"
#include "collectives.h"
#include "requests.h"
#include "handles.h"
