/* Recursion, with a depth that depends on the data. */
#include "selfcheck.h"
static double fold(double x, double y) { return y < 0.1 ? x : x * y + fold(x + y, y * 0.5) * 0.5; }
static double f(const double *x, int n) { return fold(x[0], x[n - 1]); }
int main(void) { CHECK_GRADIENT(f, 2); CHECK_GRADIENT(f, 5); return failures(); }
