/* Two functions that call each other. */
#include "selfcheck.h"
static double odd(double x, int n);
static double even(double x, int n) { return n ? x * odd(x + 1, n - 1) : x; }
static double odd(double x, int n) { return n ? sin(x) + even(x * 0.5, n - 1) : 1; }
static double f(double x) { return even(x, 7) + odd(x, 4); }
int main(void) { CHECK_SLOPE(f, 0.7); CHECK_SLOPE(f, -1.3); return failures(); }
