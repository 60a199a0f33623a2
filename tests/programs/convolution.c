/* Two windows that slide past each other. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double sum = 0;
    for (int s = 0; s < 2 * n - 1; s++) {
        double c = 0;
        for (int i = s < n ? 0 : s - n + 1; i <= s && i < n; i++)
            c += x[i] * x[s - i] * (i + 1);
        sum += c * c;
    }
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 5); return failures(); }
