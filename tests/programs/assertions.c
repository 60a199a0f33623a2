/* Checks that end the program if they fail. */
#include "selfcheck.h"
#include <assert.h>
static double f(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        assert(x[i] > 0);
        sum += log(x[i]);
        if (!(sum == sum))
            abort();
    }
    return sum * sum;
}
int main(void) { CHECK_GRADIENT(f, 4); return failures(); }
