/* A map from numbers to numbers, its Jacobian row by row and column by column. */
#include "selfcheck.h"
static void f(const double *x, double *y)
{
    for (int j = 0; j < 3; j++) {
        y[j] = 0;
        for (int i = 0; i < 4; i++)
            y[j] += sin(x[i] * (j + 1)) * x[(i + j) % 4];
    }
}
int main(void) { CHECK_MAP(f, 4, 3); return failures(); }
