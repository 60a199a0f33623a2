/* Decompositions of complex matrices under the names by which np.linalg calls them. */
#define COMPLEX
#define NAME(f) llgrad_numba_complex_##f
#include "decompositions.h"
