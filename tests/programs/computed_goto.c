/* An interpreter by computed gotos. */
#include "selfcheck.h"
static const char code[] = {0, 1, 2, 0, 2, 1, 3, 1, 4};
static double run(const double *x, int n)
{
    static const void *const labels[] = {&&add, &&multiply, &&sine, &&again, &&done};
    const char *at = code;
    double value = x[0];
    int turns = 0;
    goto *labels[(int)*at++];
add:
    value += x[1 % n];
    goto *labels[(int)*at++];
multiply:
    value *= x[2 % n];
    goto *labels[(int)*at++];
sine:
    value = sin(value) + x[0];
    goto *labels[(int)*at++];
again:
    if (++turns < 3)
        at = code;
    goto *labels[(int)*at++];
done:
    return value;
}
/* Addresses that are handed about. */
static double chosen(const double *x, int n)
{
    void *next = x[0] > 0 ? &&up : &&down;
    double value = 0;
    for (int i = 0; i < n; i++) {
        goto *next;
up:
        value += x[i] * x[i];
        next = &&down;
        continue;
down:
        value *= x[i];
        next = i % 3 ? &&up : &&down;
    }
    return value;
}
/* A label in front of which the loop begins. */
static double into_loops(const double *x, int n)
{
    static const void *const labels[] = {&&a, &&b, &&c};
    double value = x[0];
    int at = 0;
a:
    value = value * value * x[1];
    goto *labels[at++ % n];
b:
    value = value + x[2];
    goto *labels[at++ % n];
c:
    return value * x[at % n];
}
int main(void)
{
    CHECK_GRADIENT(into_loops, 3);
    CHECK_GRADIENT(run, 3);
    CHECK_GRADIENT(chosen, 7);
    return failures();
}
