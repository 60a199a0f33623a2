/* Self-checking programs of MPI: each function's tangents and adjoints against differences, taken on all ranks at once.
 *
 * A function `double f(const double *x, int n)` is called by all ranks. What is differentiated is the sum of what they
 * return, by all that they are given. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __cplusplus
extern "C" {
#endif
double __enzyme_autodiff(void *, ...);
double __enzyme_fwddiff(void *, ...);
#ifdef __cplusplus
}
#endif
extern int enzyme_dup, enzyme_const;
static int rank, size, failures;

static double over_ranks(double mine) {
    double all;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static void compare(const char *name, const char *what, double found, double wanted) {
    if (fabs(found - wanted) <= 1e-6 * (1 + fabs(wanted))) return;
    failures++;
    if (rank == 0) printf("%s: %s %.12g, differences say %.12g\n", name, what, found, wanted);
}

/* Gradient and directional derivative of `f` at rank-dependent points. `n` numbers a rank. */
#define CHECK(f, n) do { \
    double x[n], d[n], v[n], at[n], forward, reverse = 0, step = 1e-6; \
    for (int i = 0; i < n; i++) x[i] = 0.3 + 0.17 * i + 0.41 * rank, v[i] = 1 - 0.3 * i + 0.2 * rank, d[i] = 0; \
    __enzyme_autodiff((void *)f, enzyme_dup, x, d, enzyme_const, n); \
    forward = over_ranks(__enzyme_fwddiff((void *)f, enzyme_dup, x, v, enzyme_const, n)); \
    for (int i = 0; i < n; i++) reverse += d[i] * v[i], at[i] = x[i] + step * v[i]; \
    double up = over_ranks(f(at, n)); \
    for (int i = 0; i < n; i++) at[i] = x[i] - step * v[i]; \
    double down = over_ranks(f(at, n)), wanted = (up - down) / (2 * step); \
    compare(#f, "tangents say", forward, wanted), compare(#f, "adjoints say", over_ranks(reverse), wanted); \
} while (0)

static void checks(void);
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &size);
    checks();
    MPI_Finalize();
    if (!failures && rank == 0) puts("right");
    return failures != 0;
}
