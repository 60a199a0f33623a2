#include <stdlib.h>
typedef struct { double x, y; } TWO; typedef struct { double x, y, z; } VEC;
TWO OTHER_two(TWO a, double k); VEC OTHER_vec(VEC a, double k); void *OTHER_make(double k); double OTHER_use(void *h, double v);
void OTHER_drop(void *h); double OTHER_apply(double (*f)(void *, double), void *context, long n, const double *x);

TWO ME_two(TWO a, double k) { TWO r = {a.x * k, a.y + k}; return r; }
VEC ME_vec(VEC a, double k) { VEC r = {a.x * k, a.y + k, a.z * a.x}; return r; }
void *ME_make(double k) { double *p = (double *) malloc(2 * sizeof *p); p[0] = k; p[1] = k * k; return p; }
double ME_use(void *h, double v) { double *p = (double *) h; p[0] += v; return p[0] * p[1] * v; }
void ME_drop(void *h) { free(h); }
double ME_apply(double (*f)(void *, double), void *context, long n, const double *x) {
  double s = 0;
  for (long i = 0; i < n; i++) s += f(context, x[i]) * x[0];
  return s;
}
static double ME_callback(void *context, double v) { return *(double *) context * v * v; }
double ME_run(long n, const double *x) {
  TWO t = {x[0], x[1]};
  VEC v = {x[1], x[2], x[3]};
  t = OTHER_two(t, x[2]);
  v = OTHER_vec(v, x[3]);
  void *h = OTHER_make(x[0]);
  double s = t.x * t.y + v.x * v.y * v.z;
  for (long i = 0; i < n; i++) s += OTHER_use(h, x[i]);
  OTHER_drop(h);
  double k = x[3] * x[3];
  return s + OTHER_apply(ME_callback, &k, n, x);
}
