/* A soft edit distance: a table filled row by row. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double d[8][8];
    for (int i = 0; i <= n; i++)
        for (int j = 0; j <= n; j++) {
            if (!i || !j) {
                d[i][j] = (i + j) * 0.7;
                continue;
            }
            double change = d[i - 1][j - 1] + (x[i - 1] - x[n - j]) * (x[i - 1] - x[n - j]);
            double skip = fmin(d[i - 1][j], d[i][j - 1]) + 0.7 * x[0];
            d[i][j] = fmin(change, skip);
        }
    return d[n][n];
}
int main(void) { CHECK_GRADIENT(f, 5); return failures(); }
