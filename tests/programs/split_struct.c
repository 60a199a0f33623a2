/* The two sweeps of a function that returns a struct through memory. */
#include "selfcheck.h"
typedef struct { double x, y, z; } vector;
typedef struct { void *tape; vector value; } kept;
kept __enzyme_augmentfwd(void *, ...);
void *__enzyme_augmentfwd_tape(void *, ...);
void __enzyme_reverse(void *, ...);
double __enzyme_reverse_one(void *, ...);
static vector scaled(const double *x, double k)
{
    vector v = {k * x[0] * x[0], k * x[0] * x[1], sin(x[1])};
    for (int i = 0; i < 2; i++)
        v.z += v.x * x[i];
    return v;
}
int main(void)
{
    double x[2] = {2, 3}, d[2] = {0}, e[2] = {0};
    kept a = __enzyme_augmentfwd((void *)scaled, enzyme_dup, x, d, enzyme_out, 5.0);
    expect("value", 0, a.value.x, 20);
    expect("value", 1, a.value.y, 30);
    expect("value", 2, a.value.z, sin(3) + 100);
    void *b = __enzyme_augmentfwd_tape((void *)scaled, enzyme_dup, x, e, enzyme_out, 5.0);
    x[0] = x[1] = 9;
    vector first = {1, 0, 0}, last = {0, 0, 1};
    expect("by k", 0, __enzyme_reverse_one((void *)scaled, enzyme_nofree, enzyme_dup, x, d, enzyme_out, 5.0, first, a.tape), 4);
    expect("x", 0, d[0], 20);
    expect("x", 1, d[1], 0);
    expect("by k", 1, __enzyme_reverse_one((void *)scaled, enzyme_dup, x, d, enzyme_out, 5.0, last, a.tape), 20);
    expect("x", 2, d[0], 20 + 20 * 5 + 20);
    expect("x", 3, d[1], cos(3) + 20);
    __enzyme_reverse_one((void *)scaled, enzyme_dup, x, e, enzyme_out, 5.0, last, b);
    expect("other", 0, e[1], cos(3) + 20);
    return failures();
}
