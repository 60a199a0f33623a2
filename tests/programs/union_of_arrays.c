/* The same doubles under two names. */
#include "selfcheck.h"
union vector { double at[3]; struct { double x, y, z; } named; };
static double f(const double *x, int n)
{
    union vector v;
    for (int i = 0; i < n; i++)
        v.at[i] = x[i] * x[i];
    return v.named.x * v.named.y + exp(v.named.z);
}
int main(void) { CHECK_GRADIENT(f, 3); return failures(); }
