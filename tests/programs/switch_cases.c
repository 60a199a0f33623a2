/* A switch with fallthrough and default. */
#include "selfcheck.h"
static double f(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        switch ((int)(x[i] * 2)) {
        case 0: sum += x[i]; break;
        case 1: sum *= x[i]; /* fall through */
        case 2: sum += sin(x[i]); break;
        case 3: sum = sum * sum; break;
        default: sum -= x[i] * x[i];
        }
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 8); return failures(); }
