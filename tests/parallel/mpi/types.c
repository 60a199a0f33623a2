/* Datatypes that programs make, and kinds of floats. */
#include "check.h"
#include <complex.h>
#include <stddef.h>
#define WORLD MPI_COMM_WORLD
#define AFTER ((rank + 1) % size)
#define BEFORE ((rank + size - 1) % size)

static void pass(const void *from, int n, MPI_Datatype t, void *to, int m, MPI_Datatype u) {
    MPI_Request r;
    MPI_Irecv(to, m, u, BEFORE, 0, WORLD, &r);
    MPI_Send(from, n, t, AFTER, 0, WORLD);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static double column(const double *x, int n) { /* a column of a matrix becomes a row */
    double a[3][3], row[3] = {0}, s = 0;
    MPI_Datatype t;
    for (int i = 0; i < 9; i++) a[i / 3][i % 3] = x[i % n] * (1 + i);
    MPI_Type_vector(3, 1, 3, MPI_DOUBLE, &t), MPI_Type_commit(&t);
    pass(&a[0][1], 1, t, row, 3, MPI_DOUBLE);
    for (int i = 0; i < 3; i++) s += row[i] * row[i] * a[i][0];
    return s;
}
static double into_column(const double *x, int n) {
    double a[3][3] = {{0}}, s = 0;
    MPI_Datatype t, one;
    MPI_Type_vector(3, 1, 3, MPI_DOUBLE, &one), MPI_Type_create_resized(one, 0, sizeof(double), &t), MPI_Type_commit(&t);
    a[0][0] = x[0];
    pass(x, n, MPI_DOUBLE, &a[0][1], 1, t);
    for (int i = 0; i < 9; i++) s += a[i / 3][i % 3] * a[i / 3][i % 3] * (i + 1);
    return s * x[1];
}
static double matrix_transposed(const double *x, int n) { /* each rank has a row; a gather of columns */
    double own[2] = {x[0], x[1] * x[0]}, all[8] = {0}, s = 0;
    MPI_Datatype t, one;
    MPI_Type_vector(2, 1, size, MPI_DOUBLE, &one), MPI_Type_create_resized(one, 0, sizeof(double), &t), MPI_Type_commit(&t);
    MPI_Gather(own, 2, MPI_DOUBLE, all, 1, t, 0, WORLD);
    for (int i = 0; i < 2 * size; i++) s += all[i] * all[i] * (i + 1);
    return s + x[0];
}
static double twice(const double *x, int n) { /* one number is sent twice: its adjoints add up */
    double got[4] = {0};
    int lengths[2] = {2, 2}, at[2] = {0, 1};
    MPI_Datatype t;
    MPI_Type_indexed(2, lengths, at, MPI_DOUBLE, &t), MPI_Type_commit(&t);
    pass(x, 1, t, got, 4, MPI_DOUBLE);
    return got[0] * got[1] + got[2] * got[2] * got[3];
}
static double blocks(const double *x, int n) {
    double got[6] = {0};
    int at[2] = {3, 0};
    MPI_Datatype t;
    MPI_Type_create_indexed_block(2, 2, at, MPI_DOUBLE, &t), MPI_Type_commit(&t);
    pass(x, 4, MPI_DOUBLE, got, 1, t);
    return got[3] * got[4] + got[0] * got[1] * x[0];
}
struct particle { int id; double at[2]; float mass; };
static double structs(const double *x, int n) {
    struct particle own[2], got[2];
    memset(got, 0, sizeof got);
    for (int i = 0; i < 2; i++) own[i].id = rank + i, own[i].at[0] = x[0] * (i + 1), own[i].at[1] = x[1], own[i].mass = 2;
    int lengths[3] = {1, 2, 1};
    MPI_Aint at[3] = {offsetof(struct particle, id), offsetof(struct particle, at), offsetof(struct particle, mass)};
    MPI_Datatype of[3] = {MPI_INT, MPI_DOUBLE, MPI_FLOAT}, t, one;
    MPI_Type_create_struct(3, lengths, at, of, &one), MPI_Type_create_resized(one, 0, sizeof *own, &t), MPI_Type_commit(&t);
    pass(own, 2, t, got, 2, t);
    return got[0].at[0] * got[1].at[1] * got[1].mass + got[1].at[0] * (1 + got[0].id);
}
static double part_of_matrix(const double *x, int n) {
    double a[12], got[4] = {0};
    int sizes[2] = {3, 4}, sub[2] = {2, 2}, start[2] = {1, 1};
    MPI_Datatype t;
    for (int i = 0; i < 12; i++) a[i] = x[i % n] * i;
    MPI_Type_create_subarray(2, sizes, sub, start, MPI_ORDER_C, MPI_DOUBLE, &t), MPI_Type_commit(&t);
    MPI_Sendrecv(a, 1, t, AFTER, 0, got, 4, MPI_DOUBLE, BEFORE, 0, WORLD, MPI_STATUS_IGNORE);
    return got[0] * got[3] + got[1] * got[2] * x[0];
}
static double freed(const double *x, int n) { /* a type that lives shorter than the reverse sweep wants it */
    double got[4] = {0};
    MPI_Datatype t, pair;
    MPI_Type_contiguous(2, MPI_DOUBLE, &pair), MPI_Type_dup(pair, &t), MPI_Type_commit(&t);
    pass(x, 1, t, got, 1, t);
    MPI_Type_free(&t), MPI_Type_free(&pair);
    return got[0] * got[1] * x[0];
}
static double complex_numbers(const double *x, int n) {
    double complex own = x[0] + I * x[1] * x[1], sum = 0;
    MPI_Allreduce(&own, &sum, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, WORLD);
    return creal(sum) * cimag(sum) * x[0];
}

static void checks(void) {
    CHECK(column, 3);
    CHECK(into_column, 3);
    CHECK(matrix_transposed, 2);
    CHECK(twice, 3);
    CHECK(blocks, 4);
    CHECK(structs, 2);
    CHECK(part_of_matrix, 3);
    CHECK(freed, 2);
    CHECK(complex_numbers, 2);
}
