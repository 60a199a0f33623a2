// Templates that unfold: a polynomial by Horner's scheme, a fold over a pack.
#include "selfcheck.h"
template <int N> static double horner(const double *c, double x) { return c[0] + x * horner<N - 1>(c + 1, x); }
template <> double horner<0>(const double *c, double) { return c[0]; }
template <class... T> static double product(T... t) { return (t * ...); }
static double f(const double *x, int n) { return horner<3>(x, x[n - 1]) * product(x[0], x[1], 2.0); }
int main() { CHECK_GRADIENT(f, 5); return failures(); }
