/* Collective functions that move what ranks have. */
#include "check.h"
#define WORLD MPI_COMM_WORLD

static double broadcast(const double *x, int n) {
    double b[2] = {x[0] * x[0], x[1]};
    MPI_Bcast(b, 2, MPI_DOUBLE, size - 1, WORLD);
    return b[0] * b[1] * x[0];
}
static double gathered(const double *x, int n) {
    double all[8] = {0}, s = x[0];
    MPI_Gather(x, 2, MPI_DOUBLE, all, 2, MPI_DOUBLE, 0, WORLD);
    if (rank == 0) for (int i = 0; i < 2 * size; i++) s += all[i] * all[i] * (i + 1);
    return s;
}
static double gathered_here(const double *x, int n) {
    double all[4] = {0}, s = 0;
    all[rank] = x[0] * x[1];
    if (rank == 1 % size) MPI_Gather(MPI_IN_PLACE, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 1 % size, WORLD);
    else MPI_Gather(&all[rank], 1, MPI_DOUBLE, NULL, 0, MPI_DOUBLE, 1 % size, WORLD);
    for (int i = 0; i < size; i++) s += all[i] * all[i] * (i + 1);
    return s;
}
static double gathered_parts(const double *x, int n) {
    double all[16] = {0}, s = 0;
    int counts[4], at[4], own = 1 + rank % 2;
    for (int i = 0; i < size; i++) counts[i] = 1 + i % 2, at[i] = 3 * (size - 1 - i);
    MPI_Gatherv(x, own, MPI_DOUBLE, all, counts, at, MPI_DOUBLE, 0, WORLD);
    memset(counts, 0, sizeof counts), memset(at, 0, sizeof at);
    for (int i = 0; i < 12; i++) s += all[i] * all[i] * (i + 1);
    return s + x[1];
}
static double scattered(const double *x, int n) {
    double all[8], own[2];
    for (int i = 0; i < 2 * size; i++) all[i] = x[i % 2] * (i + 1);
    MPI_Scatter(all, 2, MPI_DOUBLE, own, 2, MPI_DOUBLE, 0, WORLD);
    return own[0] * own[1] + x[0];
}
static double scattered_parts(const double *x, int n) {
    double all[16], own[2] = {1, 1};
    int counts[4], at[4];
    for (int i = 0; i < 16; i++) all[i] = x[i % 2] * (i + 1);
    for (int i = 0; i < size; i++) counts[i] = 1 + i % 2, at[i] = 3 * i;
    if (rank) MPI_Scatterv(NULL, NULL, NULL, MPI_DOUBLE, own, 1 + rank % 2, MPI_DOUBLE, 0, WORLD);
    else MPI_Scatterv(all, counts, at, MPI_DOUBLE, MPI_IN_PLACE, 0, MPI_DOUBLE, 0, WORLD);
    return own[0] * own[1] * x[1] + all[0] * all[1];
}
static double everywhere(const double *x, int n) {
    double all[8], s = 0;
    MPI_Allgather(x, 2, MPI_DOUBLE, all, 2, MPI_DOUBLE, WORLD);
    for (int i = 0; i < 2 * size; i++) s += all[i] * all[(i + 1) % (2 * size)] * (rank + 1);
    return s;
}
static double everywhere_here(const double *x, int n) {
    double all[12] = {0}, s = 0;
    int counts[4], at[4];
    for (int i = 0; i < size; i++) counts[i] = 1 + i % 2, at[i] = 3 * i;
    for (int i = 0; i < counts[rank]; i++) all[at[rank] + i] = x[i] * x[0];
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DOUBLE, all, counts, at, MPI_DOUBLE, WORLD);
    for (int i = 0; i < 12; i++) s += all[i] * all[i] * (i + 1 + rank);
    return s;
}
static double transposed(const double *x, int n) {
    double row[4], column[4], s = 0;
    for (int i = 0; i < size; i++) row[i] = x[0] * (i + 1) + x[1] * x[1];
    MPI_Alltoall(row, 1, MPI_DOUBLE, column, 1, MPI_DOUBLE, WORLD);
    for (int i = 0; i < size; i++) s += column[i] * column[i] * (i + 2);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DOUBLE, column, 1, MPI_DOUBLE, WORLD);
    return s * column[0];
}
static double all_parts(const double *x, int n) {
    double given[16], got[16] = {0}, s = 0;
    int out[4], from[4], in[4], at[4];
    for (int i = 0; i < 16; i++) given[i] = x[i % 2] * x[0] * (1 + i);
    for (int i = 0; i < size; i++) {
        out[i] = 1 + (rank + i) % 2, from[i] = 2 * i;
        in[i] = 1 + (rank + i) % 2, at[i] = 3 * (size - 1 - i);
    }
    MPI_Alltoallv(given, out, from, MPI_DOUBLE, got, in, at, MPI_DOUBLE, WORLD);
    for (int i = 0; i < 12; i++) s += got[i] * got[i];
    return s;
}
static double split(const double *x, int n) { /* even and odd ranks by themselves */
    MPI_Comm half, same;
    double s;
    MPI_Comm_split(WORLD, rank % 2, -rank, &half);
    MPI_Comm_dup(half, &same);
    MPI_Allreduce(&x[0], &s, 1, MPI_DOUBLE, MPI_SUM, same);
    return s * s * x[1];
}
static double grid(const double *x, int n) { /* a line of ranks, with ends */
    MPI_Comm line;
    int ends[1] = {0}, before, after, sizes[1] = {size};
    double b = 1;
    MPI_Cart_create(WORLD, 1, sizes, ends, 0, &line);
    MPI_Cart_shift(line, 0, 1, &before, &after);
    MPI_Sendrecv(&x[0], 1, MPI_DOUBLE, after, 0, &b, 1, MPI_DOUBLE, before, 0, line, MPI_STATUS_IGNORE);
    return b * b * x[1];
}

static void checks(void) {
    CHECK(broadcast, 2);
    CHECK(gathered, 2);
    CHECK(gathered_here, 2);
    CHECK(gathered_parts, 2);
    CHECK(scattered, 2);
    CHECK(scattered_parts, 2);
    CHECK(everywhere, 2);
    CHECK(everywhere_here, 2);
    CHECK(transposed, 2);
    CHECK(all_parts, 2);
    CHECK(split, 2);
    CHECK(grid, 2);
}
