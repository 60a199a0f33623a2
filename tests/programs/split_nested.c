/* Sweeps apart inside functions that are differentiated themselves: two tapes alive, reversed in any order, again. */
#include "selfcheck.h"
struct kept { void *tape; double value; };
struct kept __enzyme_augmentfwd(void *, ...);
void __enzyme_reverse(void *, ...);
double __enzyme_reverse_of_one(void *, ...);
static double product(const double *x, int n)
{
    double p = 1;
    for (int i = 0; i < n; i++) {
        double t = x[i];
        while (t < 2)
            t = 1.3 * t + 0.2;
        p = p * sin(t) + x[i];
    }
    return p;
}
static double power(double x) { return x * x * x; }
/* The squared gradient of `product`, weighted by its value; x changes between the sweeps. */
static double by_sweeps(const double *x, int n)
{
    double a[3], b[3], da[3] = {0}, db[3] = {0}, sum = 0;
    for (int i = 0; i < n; i++)
        a[i] = x[i], b[i] = x[i] * x[i];
    struct kept first = __enzyme_augmentfwd((void *)product, enzyme_dup, a, da, enzyme_const, n);
    struct kept second = __enzyme_augmentfwd((void *)product, enzyme_dup, b, db, enzyme_const, n);
    clear(a, n);
    __enzyme_reverse((void *)product, enzyme_nofree, enzyme_dup, a, da, enzyme_const, n, second.value, first.tape);
    __enzyme_reverse((void *)product, enzyme_dup, a, da, enzyme_const, n, x[0], first.tape);
    __enzyme_reverse((void *)product, enzyme_dup, b, db, enzyme_const, n, x[1], second.tape);
    for (int i = 0; i < n; i++)
        sum += da[i] * da[i] + first.value * db[i];
    return sum;
}
/* The same of a number, the tape's address in memory of the caller's. */
static double of_number(const double *x, int n)
{
    char memory[8];
    double s = 0;
    for (int i = 0; i < n; i++) {
        __enzyme_augmentfwd((void *)power, enzyme_tape, memory, enzyme_allocated, 8, x[i]);
        s += x[0] * __enzyme_reverse_of_one((void *)power, enzyme_tape, memory, enzyme_allocated, 8, x[i], s + 1);
    }
    return s;
}
static double along(double t)
{
    double x[3], d[3] = {0};
    for (int i = 0; i < 3; i++)
        x[i] = 0.4 + t * (i + 1);
    __enzyme_autodiff_void((void *)of_number, enzyme_dup, x, d, enzyme_const, 3);
    return d[0] * d[1] + d[2];
}
int main(void)
{
    CHECK_GRADIENT(by_sweeps, 3);
    CHECK_GRADIENT(of_number, 3);
    CHECK_SLOPE(along, 0.3);
    return failures();
}
