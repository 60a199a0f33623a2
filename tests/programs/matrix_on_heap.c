/* Rows allocated one by one and freed in another order. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double *row[6], sum = 0;
    for (int i = 0; i < n; i++) {
        row[i] = (double *)calloc(n, sizeof(double));
        for (int j = 0; j <= i; j++)
            row[i][j] = x[i] * x[j];
    }
    for (int i = n; i-- > 0;) {
        for (int j = 0; j < n; j++)
            sum += row[i][j] * row[i][(j + 1) % n];
        free(row[i]);
    }
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
