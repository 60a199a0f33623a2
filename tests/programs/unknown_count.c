/* A loop whose end nobody knows before, with scratch arrays inside. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double v = x[0], sum = 0;
    int k = 0;
    while (v < 50) {
        double scratch[3];
        for (int i = 0; i < 3; i++)
            scratch[i] = v * x[(i + k) % n];
        v += scratch[0] + scratch[1] * scratch[2] / (1 + scratch[2]);
        sum += v / (k + 1);
        k++;
    }
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
