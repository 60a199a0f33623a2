/* By cofactors, recursively, with copies of the matrix. */
#include "selfcheck.h"
static double det(const double *a, int n)
{
    if (n == 1)
        return a[0];
    double sum = 0, minor[9];
    for (int c = 0; c < n; c++) {
        for (int i = 1, k = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                if (j != c)
                    minor[k++] = a[n * i + j];
        sum += (c % 2 ? -1 : 1) * a[c] * det(minor, n - 1);
    }
    return sum;
}
static double f(const double *x, int n) { return det(x, n == 9 ? 3 : 2); }
int main(void) { CHECK_GRADIENT(f, 9); CHECK_GRADIENT(f, 4); return failures(); }
