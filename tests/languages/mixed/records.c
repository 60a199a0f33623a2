#include <stdlib.h>
struct rec { double k, sum; long count; };
double OTHER_leaf(double v, const struct rec *r);
void OTHER_inner(struct rec *r, long n, const double *x, double *y);
double ME_leaf(double v, const struct rec *r) { return v * v * r->k + r->sum; }
void ME_inner(struct rec *r, long n, const double *x, double *y) {
  for (long i = 0; i < n; i++) { y[i] = r->k * OTHER_leaf(x[i], r); r->sum += y[i] * x[i]; r->count++; }
}
double ME_run(long n, const double *x) {
  struct rec r = {x[0], x[1], 0};
  double *y = malloc(n * sizeof *y), s = 0;
  OTHER_inner(&r, n, x, y);
  for (long i = 0; i < n; i++) s += y[i] * y[i] * r.count;
  free(y);
  return s + r.sum;
}
