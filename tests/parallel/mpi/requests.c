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

static double arrived[3];
static double in_static_memory(const double *x, int n) { /* a work array of the program's */
    MPI_Request r;
    double s = 0;
    MPI_Irecv(arrived, n, MPI_DOUBLE, BEFORE, 0, WORLD, &r);
    MPI_Send(x, n, MPI_DOUBLE, AFTER, 0, WORLD);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    for (int i = 0; i < n; i++) s += arrived[i] * arrived[i] * x[i];
    return s;
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

static double sums_later(const double *x, int n) {
    double s = x[0] * x[0], all = 0, r[2] = {0}, t = x[1];
    MPI_Request q[2];
    MPI_Iallreduce(&s, &all, 1, MPI_DOUBLE, MPI_SUM, WORLD, &q[0]);
    MPI_Ireduce(x, r, 2, MPI_DOUBLE, MPI_SUM, 1 % size, WORLD, &q[1]);
    for (int i = 0; i < 3; i++) t = sin(t) * x[0];
    MPI_Wait(&q[0], MPI_STATUS_IGNORE);
    t *= all;
    MPI_Wait(&q[1], MPI_STATUS_IGNORE);
    return t + r[0] * r[1] * t;
}
static double moves_later(const double *x, int n) {
    double b[2] = {x[0] * x[1], x[1]}, all[8] = {0}, row[4], column[4] = {0}, s = 0;
    MPI_Request q[3];
    for (int i = 0; i < size; i++) row[i] = x[0] * (i + 1);
    MPI_Ibcast(b, 2, MPI_DOUBLE, size - 1, WORLD, &q[0]);
    MPI_Iallgather(x, 2, MPI_DOUBLE, all, 2, MPI_DOUBLE, WORLD, &q[1]);
    MPI_Ialltoall(row, 1, MPI_DOUBLE, column, 1, MPI_DOUBLE, WORLD, &q[2]);
    MPI_Waitall(3, q, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2 * size; i++) s += all[i] * all[i] * (i + 1);
    for (int i = 0; i < size; i++) s += column[i] * column[i] * (i + 2);
    return s * b[0] + b[1];
}
static double parts_later(const double *x, int n) {
    double all[16] = {0}, given[16], own[2] = {1, 1}, part[2] = {0}, s = 0;
    int counts[4], at[4];
    MPI_Request q;
    for (int i = 0; i < 16; i++) given[i] = x[i % 2] * (i + 1);
    for (int i = 0; i < size; i++) counts[i] = 1 + i % 2, at[i] = 3 * i;
    MPI_Igatherv(x, 1 + rank % 2, MPI_DOUBLE, all, counts, at, MPI_DOUBLE, 0, WORLD, &q), MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Iscatterv(given, counts, at, MPI_DOUBLE, own, 1 + rank % 2, MPI_DOUBLE, 0, WORLD, &q), MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Ireduce_scatter(given, part, counts, MPI_DOUBLE, MPI_SUM, WORLD, &q), MPI_Wait(&q, MPI_STATUS_IGNORE);
    for (int i = 0; i < 12; i++) s += all[i] * all[i] * (i + 1);
    return s + own[0] * own[1] * x[1] + part[0] * part[0] + part[1];
}
static double while_messages_go(const double *x, int n) { /* one is started before the other rank comes there */
    double s = x[0], all = 0, b = 0;
    MPI_Request q;
    if (rank == 0) {
        MPI_Iallreduce(&s, &all, 1, MPI_DOUBLE, MPI_SUM, WORLD, &q);
        MPI_Send(&x[1], 1, MPI_DOUBLE, 1, 0, WORLD);
    } else {
        if (rank == 1) MPI_Recv(&b, 1, MPI_DOUBLE, 0, 0, WORLD, MPI_STATUS_IGNORE);
        MPI_Iallreduce(&s, &all, 1, MPI_DOUBLE, MPI_SUM, WORLD, &q);
    }
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    return all * all + b * b * x[0];
}

static void checks(void) {
    CHECK(sums_later, 2);
    CHECK(moves_later, 2);
    CHECK(parts_later, 2);
    CHECK(while_messages_go, 2);

    CHECK(waited, 2);
    CHECK(halo, 4);
    CHECK(in_functions, 2);
    CHECK(in_static_memory, 3);
    CHECK(tested, 2);
    CHECK(any, 2);
    CHECK(some, 2);
    CHECK(from_anybody, 2);
    CHECK(again, 2);
    CHECK(integers, 2);
    CHECK(mixed, 2);
}
