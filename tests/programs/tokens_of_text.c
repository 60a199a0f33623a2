/* Text is read with strtol: numbers from it are constant. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    const char *text = "3 1 4 1 5 9";
    double sum = 0;
    char *end;
    for (int i = 0; i < n; i++) {
        long k = strtol(text, &end, 10);
        sum += (double)k * x[i] * x[i];
        text = end;
    }
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
