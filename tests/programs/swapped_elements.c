/* Elements and rows change places by memcpy and by hand. */
#include "selfcheck.h"
static void exchange(double *a, double *b) { double t = *a; *a = *b; *b = t; }
static double f(const double *x, int n)
{
    double y[2][4], t[4], sum = 0;
    for (int i = 0; i < n; i++) {
        y[0][i] = x[i];
        y[1][i] = x[i] * x[i];
    }
    memcpy(t, y[0], sizeof t);
    memcpy(y[0], y[1], sizeof t);
    memcpy(y[1], t, sizeof t);
    exchange(&y[0][0], &y[1][n - 1]);
    for (int i = 0; i < n; i++)
        sum += y[0][i] * y[1][(i + 1) % n] * (i + 1);
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
