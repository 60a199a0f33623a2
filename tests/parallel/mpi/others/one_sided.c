/* Refused when it is compiled. */
#include "check.h"
static double put(const double *x, int n) {
    double here = 0;
    MPI_Win w;
    MPI_Win_create(&here, sizeof here, sizeof here, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
    MPI_Win_fence(0, w);
    MPI_Put(x, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, w);
    MPI_Win_fence(0, w);
    return here * x[0];
}
static void checks(void) { CHECK(put, 1); }
