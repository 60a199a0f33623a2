/* A program that asks for the gradient of a loop in time. */
#include <math.h>
#include <stdio.h>
double __enzyme_autodiff(void *, ...);
int enzyme_dup, enzyme_const;
static double sim(double *restrict u, double *restrict v, int n, int steps) {
  double *p = u, *q = v;
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i < n - 1; i++) q[i] = p[i] + 0.1 * sin(p[i-1] - 2 * p[i] + p[i+1]);
    double *x = p; p = q; q = x;
  }
  double s = 0;
  for (int i = 0; i < n; i++) s += p[i] * p[i];
  return s;
}
int main(void) {
  int n = 100, steps = 500;
  double u[100], v[100], du[100] = {0}, dv[100] = {0};
  for (int i = 0; i < n; i++) u[i] = v[i] = cos(i);
  __enzyme_autodiff((void *)sim, enzyme_dup, u, du, enzyme_dup, v, dv, enzyme_const, n, enzyme_const, steps);
  double s = 0, t = 0;
  for (int i = 0; i < n; i++) { s += du[i] * i + dv[i]; t += u[i] * i + v[i]; }
  printf("%.17g %.17g\n", s, t);
}
