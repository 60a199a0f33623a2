/* Reaction and diffusion on a grid of rows × columns, with no flux over the edge; all steps of space are 1.
 * `brusselator`: the speed of two species, which lie together at each point. `brusselator_step`: the residual of a step
 * of the implicit Euler method. `bratu`: the residual of lap u + exp(u) = 0, with u = 0 outside. */
#include <math.h>
#include <stddef.h>

static double at(const double *u, long rows, long columns, long i, long j, long k) {
    i = i < 0 ? 0 : i >= rows ? rows - 1 : i;
    j = j < 0 ? 0 : j >= columns ? columns - 1 : j;
    return u[2 * (i * columns + j) + k];
}

static double laplacian(const double *u, long rows, long columns, long i, long j, long k) {
    return at(u, rows, columns, i - 1, j, k) + at(u, rows, columns, i + 1, j, k) + at(u, rows, columns, i, j - 1, k) +
           at(u, rows, columns, i, j + 1, k) - 4 * at(u, rows, columns, i, j, k);
}

void brusselator(long rows, long columns, const double *u, double d, double *speed) {
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < columns; j++) {
            size_t n = 2 * (i * columns + j);
            double x = u[n], y = u[n + 1];
            speed[n] = d * laplacian(u, rows, columns, i, j, 0) + 1 + x * x * y - 4.4 * x;
            speed[n + 1] = d * laplacian(u, rows, columns, i, j, 1) + 3.4 * x - x * x * y;
        }
}

void brusselator_step(long rows, long columns, const double *u, const double *old, double dt, double d, double *r) {
    brusselator(rows, columns, u, d, r);
    for (long n = 0; n < 2 * rows * columns; n++) r[n] = (u[n] - old[n]) / dt - r[n];
}

void bratu(long rows, long columns, const double *u, double scale, double *r) {
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < columns; j++) {
            const double *p = u + i * columns + j;
            double sum = (i ? p[-columns] : 0) + (i + 1 < rows ? p[columns] : 0) + (j ? p[-1] : 0) +
                         (j + 1 < columns ? p[1] : 0);
            r[i * columns + j] = sum - 4 * *p + scale * exp(*p);
        }
}
