/* Three nested loops over a rectangle. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double a[3][3], b[3][3], c[3][3] = {{0}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            a[i][j] = x[(3 * i + j) % n];
            b[i][j] = x[(i + 3 * j + 2) % n] * 0.5;
        }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++)
                c[i][j] += a[i][k] * b[k][j];
    return c[0][0] * c[1][1] * c[2][2] - c[0][2] * c[1][0];
}
int main(void) { CHECK_GRADIENT(f, 9); return failures(); }
