/* clang's vector types. */
#include "selfcheck.h"
typedef double four __attribute__((vector_size(32)));
static double f(const double *x, int n)
{
    four sum = {0, 0, 0, 0};
    for (int i = 0; i + 4 <= n; i += 4) {
        four v = {x[i], x[i + 1], x[i + 2], x[i + 3]};
        sum += v * v + v;
    }
    return sum[0] * sum[1] + sum[2] / sum[3];
}
int main(void) { CHECK_GRADIENT(f, 8); return failures(); }
