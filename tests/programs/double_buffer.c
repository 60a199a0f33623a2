/* Two buffers swap roles in each step. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double *now = (double *)malloc(n * sizeof *now), *next = (double *)malloc(n * sizeof *next);
    for (int i = 0; i < n; i++)
        now[i] = x[i];
    for (int k = 0; k < 5; k++) {
        for (int i = 0; i < n; i++)
            next[i] = now[i] + 0.1 * (now[(i + 1) % n] * now[i] - now[(i + n - 1) % n]);
        double *other = now;
        now = next;
        next = other;
    }
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += now[i] * now[i];
    free(now);
    free(next);
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 5); return failures(); }
