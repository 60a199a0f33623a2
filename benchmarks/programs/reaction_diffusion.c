/* The Brusselator on a grid of rows × columns with Neumann's condition, a step of the implicit Euler method:
 * r = (u - old) / dt - (d lap u + reaction). Two species, one after the other at each point. */
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

void brusselator_step(long rows, long columns, const double *u, const double *old, double dt, double d, double *r) {
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < columns; j++) {
            size_t n = 2 * (i * columns + j);
            double x = u[n], y = u[n + 1];
            r[n] = (x - old[n]) / dt - (d * laplacian(u, rows, columns, i, j, 0) + 1 + x * x * y - 4.4 * x);
            r[n + 1] = (y - old[n + 1]) / dt - (d * laplacian(u, rows, columns, i, j, 1) + 3.4 * x - x * x * y);
        }
}
