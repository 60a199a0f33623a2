/* A function reads a tagged value and writes the next one: what it reads is what an earlier call of it wrote. */
#include "selfcheck.h"
#include <string.h>
struct value
{
    int tag;
    union { double d; long i; } u;
};
__attribute__((noinline)) static long step(struct value *p, double v, long *sum)
{
    long bits = p[0].u.i;
    if (p[0].tag)
        *sum += bits & 3;
    p[1].tag = 0;
    p[1].u.d = v;
    return bits;
}
static double f(const double *x, int n)
{
    struct value q[9] = {0};
    q[0].tag = 1;
    q[0].u.i = 6;
    long sum = 0;
    double s = 0;
    for (int i = 0; i < n; i++) {
        long last = step(q + i, x[i] * x[i], &sum);
        double r;
        memcpy(&r, &last, 8);
        s += i ? r : 0;
    }
    return s + sum;
}
int main(void)
{
    CHECK_GRADIENT(f, 5);
    return failures();
}
