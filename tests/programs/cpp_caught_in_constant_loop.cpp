// A loop that does nothing to active values catches what its calls throw: the reverse sweep does not go back through it,
// and nobody asks there which way it went.
#include "selfcheck.h"
static __attribute__((noinline)) int weight(int i)
{
    if (i % 3 == 0)
        throw i;
    return 2 * i;
}
static double f(const double *x, int n)
{
    int weights = 0;
    for (int i = 0; i < n; i++)
        try {
            weights += weight(i);
        } catch (int thrown) {
            weights += 7 + thrown;
        }
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += sin(x[i]) * weights;
    return sum;
}
int main() { CHECK_GRADIENT(f, 6); return failures(); }
