/* What is refused as a program runs: on all ranks, with the function and the cause, and nobody waits. */
#include "check.h"
#define WORLD MPI_COMM_WORLD

static double bytes(const double *x, int n) {
    double b = 0;
    if (rank == 0) MPI_Send(x, 8, MPI_BYTE, 1, 0, WORLD);
    if (rank == 1) MPI_Recv(&b, 8, MPI_BYTE, 0, 0, WORLD, MPI_STATUS_IGNORE);
    return b * b;
}
static double any_tag(const double *x, int n) {
    double b = 0;
    if (rank == 0) MPI_Send(x, 1, MPI_DOUBLE, 1, 0, WORLD);
    if (rank == 1) MPI_Recv(&b, 1, MPI_DOUBLE, 0, MPI_ANY_TAG, WORLD, MPI_STATUS_IGNORE);
    return b * b;
}
static void first(void *in, void *out, int *n, MPI_Datatype *t) { memcpy(out, in, *n * sizeof(double)); }
static double own_operation(const double *x, int n) {
    MPI_Op op;
    double b;
    MPI_Op_create(first, 0, &op);
    MPI_Allreduce(x, &b, 1, MPI_DOUBLE, op, WORLD);
    return b * b;
}
static double other_order(const double *x, int n) {
    double a = 0, b = 0;
    MPI_Request r[2];
    if (rank == 0) {
        MPI_Send(&x[0], 1, MPI_DOUBLE, 1, 0, WORLD), MPI_Send(&x[1], 1, MPI_DOUBLE, 1, 0, WORLD);
    } else if (rank == 1) {
        MPI_Irecv(&a, 1, MPI_DOUBLE, 0, 0, WORLD, &r[0]), MPI_Irecv(&b, 1, MPI_DOUBLE, 0, 0, WORLD, &r[1]);
        MPI_Wait(&r[1], MPI_STATUS_IGNORE);
        a = a * 0;
        MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    }
    return a * b;
}
static double scanned(const double *x, int n) {
    double b;
    MPI_Scan(x, &b, 1, MPI_DOUBLE, MPI_MAX, WORLD);
    return b * b;
}

static void ask(double (*f)(const double *, int)) {
    double x[2] = {1, 2}, d[2] = {0};
    if (f == bytes) __enzyme_autodiff((void *)bytes, enzyme_dup, x, d, enzyme_const, 2);
    if (f == any_tag) __enzyme_autodiff((void *)any_tag, enzyme_dup, x, d, enzyme_const, 2);
    if (f == own_operation) __enzyme_autodiff((void *)own_operation, enzyme_dup, x, d, enzyme_const, 2);
    if (f == other_order) __enzyme_autodiff((void *)other_order, enzyme_dup, x, d, enzyme_const, 2);
    if (f == scanned) __enzyme_autodiff((void *)scanned, enzyme_dup, x, d, enzyme_const, 2);
}
static int chosen;
static void checks(void) {
    double (*all[])(const double *, int) = {bytes, any_tag, own_operation, other_order, scanned};
    ask(all[atoi(getenv("REFUSED"))]);
}
