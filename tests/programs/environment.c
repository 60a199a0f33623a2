/* getenv, time and rand say nothing about derivatives. */
#include "selfcheck.h"
#include <time.h>
static double f(const double *x, int n)
{
    double scale = getenv("NO SUCH VARIABLE") ? 2 : 1, sum = 0;
    for (int i = 0; i < n; i++)
        sum += scale * x[i] * x[i] + 0.0 * (double)(time(0) > 0 ? rand() % 2 : 0);
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 3); return failures(); }
