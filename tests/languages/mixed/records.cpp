#include <vector>
struct rec { double k, sum; long count; };
extern "C" {
double OTHER_leaf(double v, const rec *r);
void OTHER_inner(rec *r, long n, const double *x, double *y);
double ME_leaf(double v, const rec *r) { return v * v * r->k + r->sum; }
void ME_inner(rec *r, long n, const double *x, double *y) {
  for (long i = 0; i < n; i++) { y[i] = r->k * OTHER_leaf(x[i], r); r->sum += y[i] * x[i]; r->count++; }
}
double ME_run(long n, const double *x) {
  rec r{x[0], x[1], 0};
  std::vector<double> y(n);
  OTHER_inner(&r, n, x, y.data());
  double s = 0;
  for (double v : y) s += v * v * r.count;
  return s + r.sum;
}
}
