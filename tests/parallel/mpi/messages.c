/* Blocking messages from one rank to another. */
#include "check.h"
#define WORLD MPI_COMM_WORLD

static double ring(const double *x, int n) { /* each waits for its neighbour, but the first */
    double got[4] = {0}, own[4];
    if (rank > 0) MPI_Recv(got, n, MPI_DOUBLE, rank - 1, 7, WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < n; i++) own[i] = x[i] * x[i] + 0.5 * got[i] * x[0];
    if (rank + 1 < size) MPI_Send(own, n, MPI_DOUBLE, rank + 1, 7, WORLD);
    return own[0] * own[n - 1];
}

static double overwritten(const double *x, int n) { /* what is received takes the place of what was there */
    double b[2] = {x[0] * x[0], x[1]};
    if (rank == 1) MPI_Ssend(x, 1, MPI_DOUBLE, 0, 0, WORLD);
    if (rank == 0) MPI_Recv(b, 1, MPI_DOUBLE, 1, 0, WORLD, MPI_STATUS_IGNORE);
    return b[0] * b[0] * b[1];
}

static double shorter(const double *x, int n) { /* fewer come than there is room for; the status says how many */
    double b[8] = {0}, s = 0;
    MPI_Status status;
    int count = 0;
    if (rank == 0) for (int to = 1; to < size; to++) MPI_Send(x, to < n ? to : n, MPI_DOUBLE, to, to, WORLD);
    else {
        MPI_Recv(b, 8, MPI_DOUBLE, 0, rank, WORLD, &status);
        MPI_Get_count(&status, MPI_DOUBLE, &count);
    }
    for (int i = 0; i < count; i++) s += b[i] * b[i] * x[i % n];
    return s;
}

static double asked_first(const double *x, int n) { /* who sends how much is asked before it is received */
    double b[4] = {0}, s = x[0];
    MPI_Status status;
    int count, there = 0;
    if (rank) MPI_Send(x, rank < n ? rank : n, MPI_DOUBLE, 0, 6, WORLD);
    else for (int k = 1; k < size; k++, there = 0) {
        if (k == 1) MPI_Probe(MPI_ANY_SOURCE, 6, WORLD, &status);
        else while (!there) MPI_Iprobe(MPI_ANY_SOURCE, 6, WORLD, &there, &status);
        MPI_Get_count(&status, MPI_DOUBLE, &count);
        MPI_Recv(b, count, MPI_DOUBLE, status.MPI_SOURCE, 6, WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < count; i++) s += b[i] * b[i] * (1 + status.MPI_SOURCE);
    }
    return s * s;
}

static double any_source(const double *x, int n) { /* the adjoints go where the messages came from */
    double s = x[0], b;
    MPI_Status status;
    if (rank) MPI_Send(&x[1], 1, MPI_DOUBLE, 0, 2, WORLD);
    else for (int k = 1; k < size; k++) {
        MPI_Recv(&b, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 2, WORLD, &status);
        s += b * b * (1 + status.MPI_SOURCE);
    }
    return s * s;
}

static double nobody(const double *x, int n) { /* the ends of a line: MPI_PROC_NULL */
    double left = x[0], right = x[1];
    int before = rank ? rank - 1 : MPI_PROC_NULL, after = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
    if (rank % 2) {
        MPI_Send(&x[0], 1, MPI_DOUBLE, before, 0, WORLD), MPI_Recv(&left, 1, MPI_DOUBLE, before, 0, WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&x[1], 1, MPI_DOUBLE, after, 0, WORLD), MPI_Recv(&right, 1, MPI_DOUBLE, after, 0, WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(&right, 1, MPI_DOUBLE, after, 0, WORLD, MPI_STATUS_IGNORE), MPI_Send(&x[1], 1, MPI_DOUBLE, after, 0, WORLD);
        MPI_Recv(&left, 1, MPI_DOUBLE, before, 0, WORLD, MPI_STATUS_IGNORE), MPI_Send(&x[0], 1, MPI_DOUBLE, before, 0, WORLD);
    }
    return left * right + sin(x[0]);
}

static double constants(const double *x, int n) { /* constant data goes to a rank that waits for active data, and back */
    double fixed = 2.5, got = 0, dropped;
    if (rank == 0) {
        MPI_Send(&fixed, 1, MPI_DOUBLE, 1, 0, WORLD);
        MPI_Recv(&dropped, 1, MPI_DOUBLE, 1, 1, WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(&got, 1, MPI_DOUBLE, 0, 0, WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&x[0], 1, MPI_DOUBLE, 0, 1, WORLD);
    }
    return (got + x[0]) * x[1];
}

static double integers(const double *x, int n) { /* which numbers are wanted goes as integers */
    int wanted = 1 - rank % 2, other = rank ^ 1, which = 0;
    double b = 0;
    if (other >= size) return x[0] * x[0];
    MPI_Sendrecv(&wanted, 1, MPI_INT, other, 0, &which, 1, MPI_INT, other, 0, WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&x[which], 1, MPI_DOUBLE, other, 1, &b, 1, MPI_DOUBLE, other, 1, WORLD, MPI_STATUS_IGNORE);
    return b * b * x[0];
}

static double halo(const double *x, int n) { /* a stencil, some steps in time */
    double u[6], w[6];
    int before = (rank + size - 1) % size, after = (rank + 1) % size;
    for (int i = 0; i < 4; i++) u[i + 1] = x[i];
    for (int t = 0; t < 3; t++) {
        MPI_Sendrecv(&u[4], 1, MPI_DOUBLE, after, 0, &u[0], 1, MPI_DOUBLE, before, 0, WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(&u[1], 1, MPI_DOUBLE, before, 1, &u[5], 1, MPI_DOUBLE, after, 1, WORLD, MPI_STATUS_IGNORE);
        for (int i = 1; i < 5; i++) w[i] = u[i] + 0.1 * (u[i - 1] - 2 * u[i] + u[i + 1]) - 0.01 * u[i] * u[i];
        memcpy(u + 1, w + 1, 4 * sizeof *u);
    }
    return u[1] * u[4] + u[2] * u[3];
}

static double replaced(const double *x, int n) {
    double b[2] = {x[0] * x[1], x[1]};
    MPI_Sendrecv_replace(b, 2, MPI_DOUBLE, (rank + 1) % size, 5, (rank + size - 1) % size, 5, WORLD, MPI_STATUS_IGNORE);
    return b[0] * b[1] * x[0];
}

static double kinds_of_floats(const double *x, int n) {
    float f[2] = {(float)x[0], (float)x[1]}, g[2];
    long double l = x[0] * x[1], m;
    int after = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Sendrecv(&l, 1, MPI_LONG_DOUBLE, after, 1, &m, 1, MPI_LONG_DOUBLE, before, 1, WORLD, MPI_STATUS_IGNORE);
    (void)f, (void)g;
    return (double)(m * m) * x[0];
}

static void checks(void) {
    CHECK(ring, 3);
    CHECK(overwritten, 2);
    CHECK(shorter, 3);
    CHECK(any_source, 2);
    CHECK(asked_first, 2);
    CHECK(nobody, 2);
    CHECK(constants, 2);
    CHECK(integers, 2);
    CHECK(halo, 4);
    CHECK(replaced, 2);
    CHECK(kinds_of_floats, 2);
}
