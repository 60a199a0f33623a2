/* Elimination with row exchanges. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double a[4][5];
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            a[i][j] = x[(i * 3 + j) % n] * (i == (j + 1) % n ? 4 : 0.5) + i * 0.1 * j;
        a[i][n] = x[i];
    }
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(a[i][k]) > fabs(a[best][k]))
                best = i;
        for (int j = k; j <= n; j++) {
            double t = a[k][j];
            a[k][j] = a[best][j];
            a[best][j] = t;
        }
        for (int i = k + 1; i < n; i++)
            for (int j = n; j >= k; j--)
                a[i][j] -= a[i][k] / a[k][k] * a[k][j];
    }
    double sum = 0, u[4];
    for (int i = n; i-- > 0;) {
        u[i] = a[i][n];
        for (int j = i + 1; j < n; j++)
            u[i] -= a[i][j] * u[j];
        u[i] /= a[i][i];
        sum += u[i] * u[i];
    }
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
