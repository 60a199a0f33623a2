/* The two sweeps apart: recursion, memory that stays with the caller, pointers to functions, globals, stack arrays. */
#include "check.h"
typedef struct { void *tape; double value; } kept;
kept __enzyme_augmentfwd_value(void *, ...);
void __enzyme_reverse(void *, ...);
double __enzyme_reverse_double(void *, ...);
__attribute__((noinline)) static double rec(const double *x, int n) { return n == 0 ? 1 : sin(x[n-1]) * rec(x, n-1) + x[0]*n; }
static double top(double *x, int n) { double r = rec(x, n); x[0] = r * x[1]; return r * x[0]; }
static double alloc_keep(const double *x, double **out, int n) {
  double *p = malloc(n * sizeof(double));
  for (int i = 0; i < n; i++) p[i] = x[i] * x[i];
  *out = p;
  return p[0];
}
typedef double (*fn)(double);
static double sq(double x) { return x*x; }
static double cu(double x) { return x*x*x; }
static double disp(double x, int w) { fn f = w ? sq : cu; double r = f(x); for (int i = 0; i < w; i++) r = f(r) * 0.5; return r; }
static double g1;
static double glob(double x) { g1 = x * x; double r = g1 * x; g1 = 0; return r; }
static double vla(const double *x, int n) { double t[n]; for (int i = 0; i < n; i++) t[i] = x[i]*x[n-1-i]; double s = 0; for (int i = 0; i < n; i++) s += t[i]*t[i]; return s;}
int main() {
  double x[3] = {0.5, 1.5, 2.5}, dx[3] = {0, 0, 0};
  double h = 1e-6, e[3];
  for (int i = 0; i < 3; i++) { double u[3]; memcpy(u,x,24); u[i]+=h; double a=top(u,3); memcpy(u,x,24); u[i]-=h; e[i]=(a-top(u,3))/(2*h); }
  kept k = __enzyme_augmentfwd_value((void*)top, x, dx, 3);
  memset(x, 0, sizeof x);
  __enzyme_reverse((void*)top, enzyme_nofree, x, dx, 3, 1.0, k.tape);
  for (int i = 0; i < 3; i++) CHECK_DIFFERENCE(dx[i], e[i]);
  memset(dx, 0, 24);
  __enzyme_reverse((void*)top, x, dx, 3, 1.0, k.tape);
  for (int i = 0; i < 3; i++) CHECK_DIFFERENCE(dx[i], e[i]);

  double y[2] = {2, 3}, dy[2] = {0}, *out, *dout;
  kept m = __enzyme_augmentfwd_value((void*)alloc_keep, y, dy, &out, &dout, 2);
  CHECK(out[1], 9);
  dout[1] = 10;
  __enzyme_reverse((void*)alloc_keep, y, dy, &out, &dout, 2, 1.0, m.tape);
  CHECK(dy[0], 4); CHECK(dy[1], 60);
  free(out); free(dout);
  kept d = __enzyme_augmentfwd_value((void*)disp, 2.0, 2);
  CHECK_DIFFERENCE(__enzyme_reverse_double((void*)disp, 2.0, 2, 1.0, d.tape), (disp(2+h,2)-disp(2-h,2))/(2*h));
  kept g = __enzyme_augmentfwd_value((void*)glob, 3.0), g2 = __enzyme_augmentfwd_value((void*)glob, 4.0);
  CHECK(__enzyme_reverse_double((void*)glob, 3.0, 1.0, g.tape), 27);
  CHECK(__enzyme_reverse_double((void*)glob, 4.0, 1.0, g2.tape), 48);
  double z[3] = {1,2,3}, dz[3] = {0};
  kept v = __enzyme_augmentfwd_value((void*)vla, z, dz, 3);
  kept v2 = __enzyme_augmentfwd_value((void*)vla, z, dz, 3);
  z[0] = z[1] = z[2] = 100;
  __enzyme_reverse((void*)vla, z, dz, 3, 1.0, v.tape);
  __enzyme_reverse((void*)vla, z, dz, 3, 1.0, v2.tape);
  CHECK(dz[0], 2*2*(2*3*3)); CHECK(dz[1], 2*4*8);
  return failures;
}
