/* printf of active numbers changes no derivative. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        sum += x[i] * x[i];
        if (sum < 0)
            printf("never: %g\n", sum);
    }
    char text[40];
    snprintf(text, sizeof text, "%.3f", sum);
    return sum * (text[0] ? 2 : 1);
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
