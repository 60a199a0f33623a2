/* Functions that combine what ranks have. */
#include "check.h"
#define WORLD MPI_COMM_WORLD

static double sum_of_squares(const double *x, int n) {
    double s = 0, t;
    for (int i = 0; i < n; i++) s += x[i] * x[i];
    MPI_Allreduce(&s, &t, 1, MPI_DOUBLE, MPI_SUM, WORLD);
    return sin(t) * x[0];
}
static double to_root(const double *x, int n) {
    double r[3] = {1, 2, 3};
    MPI_Reduce(x, r, n, MPI_DOUBLE, MPI_SUM, size - 1, WORLD);
    return r[0] * r[1] + x[2] * r[2];
}
static double in_place(const double *x, int n) {
    double b[2] = {x[0] * x[1], x[1]};
    MPI_Allreduce(MPI_IN_PLACE, b, 2, MPI_DOUBLE, MPI_SUM, WORLD);
    b[0] *= b[1];
    if (rank == 0) MPI_Reduce(MPI_IN_PLACE, b, 2, MPI_DOUBLE, MPI_SUM, 0, WORLD);
    else MPI_Reduce(b, NULL, 2, MPI_DOUBLE, MPI_SUM, 0, WORLD);
    return b[0] * b[1];
}
static double product(const double *x, int n) {
    double r[2], s[2] = {rank == 1 ? 0 : x[0], x[1]}, q;
    MPI_Allreduce(s, r, 2, MPI_DOUBLE, MPI_PROD, WORLD);
    MPI_Reduce(&x[1], &q, 1, MPI_DOUBLE, MPI_PROD, 0, WORLD);
    return r[0] * x[1] + r[1] * (rank ? 1 : q);
}
static double with_a_zero(const double *x, int n) { /* the product of the others is the derivative */
    double s = rank == 1 ? x[0] - (0.3 + 0.41) : x[0], r;
    MPI_Allreduce(&s, &r, 1, MPI_DOUBLE, MPI_PROD, WORLD);
    return r * x[1];
}
static double extremes(const double *x, int n) {
    double big[2], small;
    MPI_Allreduce(x, big, 2, MPI_DOUBLE, MPI_MAX, WORLD);
    MPI_Reduce(x, &small, 1, MPI_DOUBLE, MPI_MIN, 1, WORLD);
    return big[0] * big[1] + (rank == 1 ? small * small : 0);
}
static double with_place(const double *x, int n) {
    struct { double v; int at; } own = {x[0] * (2 - rank), rank}, big, small;
    MPI_Allreduce(&own, &big, 1, MPI_DOUBLE_INT, MPI_MAXLOC, WORLD);
    MPI_Allreduce(&own, &small, 1, MPI_DOUBLE_INT, MPI_MINLOC, WORLD);
    return big.v * big.v * x[1] + small.v * x[0] + big.at;
}
static double scans(const double *x, int n) {
    double s[2], e[2] = {x[1], 0};
    MPI_Scan(x, s, 2, MPI_DOUBLE, MPI_SUM, WORLD);
    MPI_Exscan(x, e, 2, MPI_DOUBLE, MPI_SUM, WORLD);
    return s[0] * s[1] + e[0] * e[0] + e[1];
}
static double scattered(const double *x, int n) {
    double all[8], own[2];
    int counts[4];
    for (int i = 0; i < 2 * size; i++) all[i] = x[i % n] * x[0];
    for (int i = 0; i < size; i++) counts[i] = i == 0 ? 1 : i == 1 ? 3 : 2;
    double parts[3] = {0};
    MPI_Reduce_scatter_block(all, own, 2, MPI_DOUBLE, MPI_SUM, WORLD);
    MPI_Reduce_scatter(all, parts, counts, MPI_DOUBLE, MPI_SUM, WORLD);
    memset(counts, 0, sizeof counts); /* the reverse sweep has to have its own */
    return own[0] * own[1] + parts[0] * parts[2] + parts[1];
}
static double norm(const double *x, int n) { return sqrt(n); }
static double iterated(const double *x, int n) { /* a power iteration: reductions in a loop */
    double v[3], s, t;
    memcpy(v, x, sizeof v);
    for (int k = 0; k < 4; k++) {
        s = 0;
        for (int i = 0; i < n; i++) v[i] = v[i] * x[i] + 0.1 * v[(i + 1) % n], s += v[i] * v[i];
        MPI_Allreduce(&s, &t, 1, MPI_DOUBLE, MPI_SUM, WORLD);
        for (int i = 0; i < n; i++) v[i] /= sqrt(t);
    }
    return v[0] + 2 * v[1] * v[2];
}
static double tie(const double *x, int n) {
    double own = x[0] * 0 + 1, big;
    MPI_Allreduce(&own, &big, 1, MPI_DOUBLE, MPI_MAX, WORLD);
    return big;
}

static void checks(void) {
    CHECK(sum_of_squares, 3);
    CHECK(to_root, 3);
    CHECK(in_place, 2);
    CHECK(product, 2);
    if (size > 1) CHECK(with_a_zero, 2);
    if (size > 1) CHECK(extremes, 2);
    CHECK(with_place, 2);
    CHECK(scans, 2);
    CHECK(scattered, 3);
    CHECK(iterated, 3);
    (void)tie, (void)norm;
}
