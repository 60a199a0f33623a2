/* Bit fields beside doubles. */
#include "selfcheck.h"
struct flags { unsigned on : 1, times : 5; double value; };
static double f(const double *x, int n)
{
    struct flags s[4];
    double sum = 0;
    for (int i = 0; i < n; i++) {
        s[i].on = x[i] > 0.6;
        s[i].times = (unsigned)i + 2;
        s[i].value = x[i] * x[i];
    }
    for (int i = 0; i < n; i++)
        if (s[i].on)
            sum += s[i].times * s[i].value * x[0];
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
