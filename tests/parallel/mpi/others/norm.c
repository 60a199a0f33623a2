#include <math.h>
#include <mpi.h>
double norm(const double *x, int n, MPI_Comm comm) {
    double s = 0, all;
    for (int i = 0; i < n; i++) s += x[i] * x[i];
    MPI_Allreduce(&s, &all, 1, MPI_DOUBLE, MPI_SUM, comm);
    return sqrt(all);
}
void squares(const double *x, int n, double *y, MPI_Comm comm) {
    double own[3];
    for (int i = 0; i < n; i++) own[i] = x[i] * x[i];
    MPI_Reduce(own, y, n, MPI_DOUBLE, MPI_SUM, 0, comm);
}
