/* The inner loop's end depends on the outer one: a Cholesky factor and its determinant. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double l[6][6] = {{0}}, sum = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double s = i == j ? 8 + x[i] : x[i] * x[j] * 0.3;
            for (int k = 0; k < j; k++)
                s -= l[i][k] * l[j][k];
            l[i][j] = i == j ? sqrt(s) : s / l[j][j];
        }
    for (int i = 0; i < n; i++)
        sum += 2 * log(l[i][i]);
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 6); return failures(); }
