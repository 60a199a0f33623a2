/* An array of pointers into another array, permuted as the data says. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double v[8], *p[8], sum = 0;
    for (int i = 0; i < n; i++) {
        v[i] = x[i] * x[i];
        p[i] = &v[i];
    }
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            if (*p[j] < *p[i]) {
                double *t = p[i];
                p[i] = p[j];
                p[j] = t;
            }
    for (int i = 0; i < n; i++)
        sum += *p[i] * (i + 1);
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 6); return failures(); }
