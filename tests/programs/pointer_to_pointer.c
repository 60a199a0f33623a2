/* Rows of a matrix behind pointers, two of which change places. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double **rows = (double **)malloc(n * sizeof *rows), sum = 0;
    for (int i = 0; i < n; i++) {
        rows[i] = (double *)malloc(n * sizeof **rows);
        for (int j = 0; j < n; j++)
            rows[i][j] = x[i] * x[j] * (i + 1);
    }
    double *first = rows[0];
    rows[0] = rows[n - 1];
    rows[n - 1] = first;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            sum += rows[i][j] * (i + 2 * j);
    for (int i = 0; i < n; i++)
        free(rows[i]);
    free(rows);
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 3); return failures(); }
