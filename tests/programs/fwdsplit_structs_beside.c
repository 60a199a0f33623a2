/* Forward mode from a tape where a struct by value finds no registers left, in the call. */
#include "selfcheck.h"

struct mixed { double a; int n; };
void *__enzyme_augmentfwd(void *, ...);
void __enzyme_fwdsplit(void *, ...);

static void scaled(double *x, struct mixed s, double *z) { z[0] = x[0] * s.a * s.n; }

int main(void)
{
    double y[1] = {5}, dy[1] = {1}, z[1], dz[1] = {0};
    struct mixed s = {3, 2}, t = {1, 0};
    void *tape = __enzyme_augmentfwd((void *)scaled, enzyme_dup, y, dy, enzyme_const, s, enzyme_dup, z, dz);
    y[0] = 50;
    __enzyme_fwdsplit((void *)scaled, enzyme_dup, y, dy, enzyme_dup, s, t, enzyme_dup, z, dz, tape);
    expect("tangent", 0, dz[0], 3 * 2 + 5 * 2);
    return failures();
}
