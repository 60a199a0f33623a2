/* The two sweeps apart, with runtime activity and results that are not wanted. */
#include "check.h"
typedef struct { void *tape; double value; } kept;
kept __enzyme_augmentfwd_value(void *, ...);
void __enzyme_reverse(void *, ...);
static double pick(const double *a, const double *b, int n, int w) { const double *p = w ? a : b; double s = 0; for (int i = 0; i < n; i++) s += p[i] * p[i]; return s; }
static void outp(const double *x, int n, double *out) { *out = 0; for (int i = 0; i < n; i++) *out += x[i] * x[i] * *out + x[i]; }
int main(void) {
  double a[2] = {1, 2}, da[2] = {0}, b[2] = {3, 4};
  kept k = __enzyme_augmentfwd_value((void*)pick, enzyme_runtime_activity, a, da, b, b, 2, 1);
  kept k2 = __enzyme_augmentfwd_value((void*)pick, enzyme_runtime_activity, a, da, b, b, 2, 0);
  __enzyme_reverse((void*)pick, enzyme_runtime_activity, enzyme_nofree, a, da, b, b, 2, 1, 1.0, k.tape);
  CHECK(da[1], 4);
  __enzyme_reverse((void*)pick, enzyme_runtime_activity, a, da, b, b, 2, 1, 1.0, k.tape);
  CHECK(da[1], 8); CHECK(b[1], 4);
  __enzyme_reverse((void*)pick, enzyme_runtime_activity, a, da, b, b, 2, 0, 1.0, k2.tape);
  CHECK(da[1], 8); CHECK(b[1], 4); CHECK(b[0], 3);
  double x[2] = {0.5, 2}, dx[2] = {0}, d = 1, dx1[2] = {0}, d1 = 10;
  void *t = __enzyme_augmentfwd((void*)outp, x, dx, 2, enzyme_dupnoneed, (double*)0, &d);
  x[0] = x[1] = 0;
  __enzyme_reverse((void*)outp, x, dx, 2, enzyme_dupnoneed, (double*)0, &d, t);
  /* out = x0; out = x0 + x1^2 x0 + x1 -> d/dx0 = 1+x1^2 = 5, d/dx1 = 2 x1 x0 + 1 = 3 */
  CHECK(dx[0], 5); CHECK(dx[1], 3); CHECK(d, 0);
  x[0] = 0.5, x[1] = 2, dx[0] = dx[1] = 0, d = 1;
  __enzyme_autodiff_void((void*)outp, enzyme_width, 2, enzyme_dup, x, dx, dx1, enzyme_const, 2, enzyme_dupnoneed, (double*)0, &d, &d1);
  CHECK(dx[0], 5); CHECK(dx1[1], 30);
  return failures;
}
