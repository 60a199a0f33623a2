/* Messages that are waited for. */
#include "check.h"
#define WORLD MPI_COMM_WORLD
#define AFTER ((rank + 1) % size)
#define BEFORE ((rank + size - 1) % size)

static double waited(const double *x, int n) {
    MPI_Request r[2];
    double got[2] = {0}, sent[2] = {x[0] * x[0], x[1]};
    MPI_Irecv(got, 2, MPI_DOUBLE, BEFORE, 0, WORLD, &r[0]);
    MPI_Isend(sent, 2, MPI_DOUBLE, AFTER, 0, WORLD, &r[1]);
    double s = x[0] * x[1];
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    s += got[0] * got[1];
    MPI_Wait(&r[1], MPI_STATUS_IGNORE);
    sent[0] = 0;
    return s * s;
}

static double halo(const double *x, int n) { /* a stencil in time: what is inside is computed meanwhile */
    double u[6] = {0}, w[6] = {0};
    memcpy(u + 1, x, 4 * sizeof *u);
    for (int t = 0; t < 3; t++) {
        MPI_Request r[4];
        MPI_Irecv(&u[0], 1, MPI_DOUBLE, BEFORE, 0, WORLD, &r[0]);
        MPI_Irecv(&u[5], 1, MPI_DOUBLE, AFTER, 1, WORLD, &r[1]);
        MPI_Isend(&u[4], 1, MPI_DOUBLE, AFTER, 0, WORLD, &r[2]);
        MPI_Isend(&u[1], 1, MPI_DOUBLE, BEFORE, 1, WORLD, &r[3]);
        for (int i = 2; i < 4; i++) w[i] = u[i] + 0.1 * (u[i - 1] - 2 * u[i] + u[i + 1]) - 0.01 * u[i] * u[i];
        MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
        for (int i = 1; i < 5; i += 3) w[i] = u[i] + 0.1 * (u[i - 1] - 2 * u[i] + u[i + 1]) - 0.01 * u[i] * u[i];
        memcpy(u + 1, w + 1, 4 * sizeof *u);
    }
    return u[1] * u[4] + u[2] * u[3];
}

static void begin(double *to, const double *from, MPI_Request *r) {
    MPI_Irecv(to, 1, MPI_DOUBLE, BEFORE, 0, WORLD, &r[0]);
    MPI_Isend(from, 1, MPI_DOUBLE, AFTER, 0, WORLD, &r[1]);
}
static void end(MPI_Request *r) { MPI_Waitall(2, r, MPI_STATUSES_IGNORE); }
static double in_functions(const double *x, int n) {
    struct { double got; MPI_Request r[2]; } s = {1};
    double own = sin(x[0]);
    begin(&s.got, &own, s.r);
    MPI_Request kept[2] = {s.r[0], s.r[1]}; /* requests may be copied */
    end(kept);
    return s.got * x[1] + s.got * s.got;
}

static double tested(const double *x, int n) {
    double got = 0, s = x[0];
    MPI_Request r[2];
    int flag = 0, tries = 0;
    MPI_Irecv(&got, 1, MPI_DOUBLE, BEFORE, 0, WORLD, &r[0]);
    MPI_Isend(x, 1, MPI_DOUBLE, AFTER, 0, WORLD, &r[1]);
    while (!flag) MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE), tries++;
    s += got * got * x[1];
    for (flag = 0; !flag;) MPI_Testall(1, &r[1], &flag, MPI_STATUSES_IGNORE);
    return s + (tries > 0);
}

static double any(const double *x, int n) { /* one after another, as they come */
    double got[4] = {0}, s = x[0];
    MPI_Request r[8];
    int which;
    MPI_Status status;
    for (int i = 0; i < size; i++) MPI_Irecv(&got[i], 1, MPI_DOUBLE, i, 0, WORLD, &r[i]);
    for (int i = 0; i < size; i++) MPI_Isend(&x[i % 2], 1, MPI_DOUBLE, i, 0, WORLD, &r[size + i]);
    for (int k = 0; k < size; k++) {
        MPI_Waitany(size, r, &which, &status);
        s += got[which] * got[which] * (1 + which) * (1 + status.MPI_SOURCE);
    }
    MPI_Waitall(size, r + size, MPI_STATUSES_IGNORE);
    return s * x[1];
}

static double some(const double *x, int n) {
    double got[4] = {0}, s = x[0];
    MPI_Request r[8];
    int which[4], count, left = size;
    for (int i = 0; i < size; i++) MPI_Irecv(&got[i], 1, MPI_DOUBLE, i, 0, WORLD, &r[i]);
    for (int i = 0; i < size; i++) MPI_Issend(&x[i % 2], 1, MPI_DOUBLE, i, 0, WORLD, &r[size + i]);
    while (left > 0) {
        MPI_Waitsome(size, r, &count, which, MPI_STATUSES_IGNORE);
        for (int k = 0; k < count; k++) s += got[which[k]] * got[which[k]] * (1 + which[k]);
        left -= count;
    }
    MPI_Waitall(size, r + size, MPI_STATUSES_IGNORE);
    return s * s;
}

static double from_anybody(const double *x, int n) {
    double got[4] = {0}, s = 0;
    MPI_Request r[4], own;
    MPI_Status states[4];
    if (rank == 0) {
        for (int i = 1; i < size; i++) MPI_Irecv(&got[i], 1, MPI_DOUBLE, MPI_ANY_SOURCE, 4, WORLD, &r[i - 1]);
        MPI_Waitall(size - 1, r, states);
        for (int i = 1; i < size; i++) s += got[i] * got[i] * (states[i - 1].MPI_SOURCE + 1);
    } else {
        MPI_Isend(x, 1, MPI_DOUBLE, 0, 4, WORLD, &own);
        MPI_Wait(&own, MPI_STATUS_IGNORE);
    }
    return s + x[1] * x[0];
}

static double again(const double *x, int n) { /* requests that are started in each step */
    double in = 0, out, s = x[0];
    MPI_Request r[2];
    MPI_Recv_init(&in, 1, MPI_DOUBLE, BEFORE, 0, WORLD, &r[0]);
    MPI_Send_init(&out, 1, MPI_DOUBLE, AFTER, 0, WORLD, &r[1]);
    for (int k = 0; k < 3; k++) {
        out = s * x[1];
        MPI_Startall(2, r);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        s += in * in * 0.1;
    }
    return s;
}

static double integers(const double *x, int n) { /* how many numbers follow */
    int own = 1 + rank % 2, count = 0;
    double got[2] = {1, 1};
    MPI_Request r[2];
    MPI_Irecv(&count, 1, MPI_INT, BEFORE, 0, WORLD, &r[0]);
    MPI_Isend(&own, 1, MPI_INT, AFTER, 0, WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Irecv(got, count, MPI_DOUBLE, BEFORE, 1, WORLD, &r[0]);
    MPI_Isend(x, own, MPI_DOUBLE, AFTER, 1, WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    return got[0] * got[1] * x[0];
}

static double mixed(const double *x, int n) { /* what waits, and what does not, in one conversation */
    double a = 0, b = 0;
    MPI_Request r;
    if (rank == 0) {
        MPI_Isend(&x[0], 1, MPI_DOUBLE, 1, 0, WORLD, &r);
        MPI_Send(&x[1], 1, MPI_DOUBLE, 1, 0, WORLD);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(&a, 1, MPI_DOUBLE, 0, 0, WORLD, MPI_STATUS_IGNORE);
        MPI_Irecv(&b, 1, MPI_DOUBLE, 0, 0, WORLD, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    return a * a * b + x[0];
}

static void checks(void) {
    CHECK(waited, 2);
    CHECK(halo, 4);
    CHECK(in_functions, 2);
    CHECK(tested, 2);
    CHECK(any, 2);
    CHECK(some, 2);
    CHECK(from_anybody, 2);
    CHECK(again, 2);
    CHECK(integers, 2);
    CHECK(mixed, 2);
}
