// Powers with an integer exponent that is known at run time only.
// k: 5
#include <math.h>
double libm_powi(double *x, int n, int k) { return __builtin_powi(x[0], k) + pow(x[1], (double)k) + __builtin_powi(x[2], -k); }
