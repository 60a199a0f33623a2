/* An atomic counter of integers beside active numbers. */
#include "selfcheck.h"
#include <stdatomic.h>
static atomic_int counter;
static double f(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        atomic_fetch_add(&counter, 1);
        sum += x[i] * x[i];
    }
    return sum;
}
int main(void)
{
    CHECK_GRADIENT(f, 3);
    expect("counted", 0, counter > 0, 1);
    return failures();
}
