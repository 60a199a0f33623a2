/* One function, for tests of how programs are compiled. */
#include "check.h"
static double norm(const double *x, int n) {
    double s = 0, all;
    for (int i = 0; i < n; i++) s += x[i] * x[i];
    MPI_Allreduce(&s, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sqrt(all);
}
static void checks(void) { CHECK(norm, 3); }
