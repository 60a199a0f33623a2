/* break, continue, goto out of two loops, and a return in the middle. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        if (x[i] > 1.2)
            continue;
        for (int j = 0; j < n; j++) {
            sum += x[i] * x[j];
            if (sum > 6)
                goto done;
        }
        if (sum > 5)
            break;
    }
    if (sum < 0.2)
        return sum;
done:
    return sum * sum;
}
int main(void) { CHECK_GRADIENT(f, 3); CHECK_GRADIENT(f, 6); return failures(); }
