/* Scratch memory in a loop whose end depends on the data. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double total = 0, left = x[0] + 2;
    for (int k = 1; left > 0.5; k++) {
        double *scratch = (double *)malloc(k * sizeof *scratch);
        for (int i = 0; i < k; i++)
            scratch[i] = left * x[i % n];
        for (int i = 0; i < k; i++)
            total += scratch[i] * scratch[(i + 1) % k];
        free(scratch);
        left *= 0.7;
    }
    return total;
}
int main(void) { CHECK_GRADIENT(f, 3); return failures(); }
