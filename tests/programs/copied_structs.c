/* Assignment of structs, memcpy and memmove of arrays of them. */
#include "selfcheck.h"
struct pair { double a; int n; double b; };
static double f(const double *x, int n)
{
    struct pair p[6], q[6];
    for (int i = 0; i < n; i++) {
        struct pair one = {x[i], i, x[i] * 2};
        p[i] = one;
    }
    memcpy(q, p, sizeof p);
    memmove(q + 1, q, (n - 1) * sizeof *q);
    q[2] = p[0];
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += q[i].a * q[i].b * (q[i].n + 1);
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 6); return failures(); }
