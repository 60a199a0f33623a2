/* Decompositions of real matrices under the names by which np.linalg calls them. */
#define NAME(f) numba_ez_##f
#include "decompositions.h"
