/* Arrays of three dimensions, with strides in both directions. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double a[2][3][4], sum = 0;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 4; k++)
                a[i][j][k] = x[(i + 2 * j + k) % n] * (i + j + k + 1);
    for (int k = 3; k >= 0; k--)
        for (int j = 0; j < 3; j++)
            sum += a[0][j][k] * a[1][2 - j][3 - k];
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 7); return failures(); }
