/* Loops in time of many kinds, for tests/test_checkpointing.py. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* double buffer, exchanged by pointer */
double heat(int n, int steps, const double *x, double *u, double *v) {
  for (int i = 0; i < n; i++) u[i] = x[i];
  for (int i = 0; i < n; i++) v[i] = x[i];
  double *p = u, *q = v;
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i < n - 1; i++)
      q[i] = p[i] + 0.1 * (p[i-1] - 2 * p[i] + p[i+1]) + 0.01 * sin(p[i]);
    double *tmp = p; p = q; q = tmp;
  }
  double s = 0;
  for (int i = 0; i < n; i++) s += p[i] * p[i];
  return s;
}
double rk4(int steps, double h, double a, double b) {
  double x = a, y = b;
  for (int t = 0; t < steps; t++) {
    double k1 = y, l1 = -sin(x);
    double k2 = y + h/2*l1, l2 = -sin(x + h/2*k1);
    double k3 = y + h/2*l2, l3 = -sin(x + h/2*k2);
    double k4 = y + h*l3, l4 = -sin(x + h*k3);
    x += h/6*(k1+2*k2+2*k3+k4); y += h/6*(l1+2*l2+2*l3+l4);
  }
  return x * y;
}
/* while loop, adaptive step, step accepted or rejected */
double adaptive(double T, double y0, double k) {
  double t = 0, y = y0, h = 0.01;
  while (t < T) {
    if (t + h > T) h = T - t;
    double f = -k * y + sin(t), ym = y + h / 2 * f, yn = y + h * (-k * ym + sin(t + h / 2));
    double err = fabs(yn - (y + h * f));
    if (err < 1e-4) { t += h; y = yn; h *= 1.2; } else h *= 0.5;
  }
  return y * y;
}
/* early exit with break in the middle, float */
float early(int n, float a, float *u) {
  for (int t = 0; t < 10000; t++) {
    float s = 0;
    for (int i = 0; i < n; i++) { u[i] = u[i] * 0.99f + a * sinf(u[i]) * 0.01f; s += u[i] * u[i]; }
    if (s < 0.05f) break;
    for (int i = 0; i < n; i++) u[i] *= 0.98f;
  }
  float s = 0;
  for (int i = 0; i < n; i++) s += u[i];
  return s;
}
/* malloced double buffers, memory through several arrays, memcpy */
double waves(int n, int steps, const double *restrict c, const double *restrict u0) {
  double *u = malloc(n * sizeof *u), *v = malloc(n * sizeof *v), *w = malloc(n * sizeof *w);
  memcpy(u, u0, n * sizeof *u);
  memcpy(v, u0, n * sizeof *u);
  memset(w, 0, n * sizeof *w);
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i < n - 1; i++)
      w[i] = 2 * v[i] - u[i] + c[i] * (v[i-1] - 2 * v[i] + v[i+1]) * (1 + 0.1 * v[i]);
    double *x = u; u = v; v = w; w = x;
  }
  double s = 0;
  for (int i = 0; i < n; i++) s += v[i] * v[i];
  free(u); free(v); free(w);
  return s;
}
/* in place, one array written, coefficient array overwritten after the loop */
double later(int n, int steps, double *restrict k, double *restrict u) {
  for (int t = 0; t < steps; t++)
    for (int i = 0; i < n; i++) u[i] += 0.1 * sin(k[i] * u[i]);
  double s = 0;
  for (int i = 0; i < n; i++) { s += u[i]; k[i] = 0; }
  return s;
}
/* brusselator 2-d */
double brusselator(int n, int steps, double A, double B, const double *restrict u0, double *restrict u, double *restrict v,
             double *restrict un, double *restrict vn) {
  for (int i = 0; i < n * n; i++) { u[i] = u0[i]; v[i] = u0[n*n + i]; }
  for (int t = 0; t < steps; t++) {
    for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {
      int im = i ? i - 1 : n - 1, ip = i + 1 < n ? i + 1 : 0, jm = j ? j - 1 : n - 1, jp = j + 1 < n ? j + 1 : 0;
      double lu = u[im*n+j] + u[ip*n+j] + u[i*n+jm] + u[i*n+jp] - 4*u[i*n+j];
      double lv = v[im*n+j] + v[ip*n+j] + v[i*n+jm] + v[i*n+jp] - 4*v[i*n+j];
      double x = u[i*n+j], y = v[i*n+j];
      un[i*n+j] = x + 0.001 * (B + x*x*y - (A+1)*x + 0.1*lu);
      vn[i*n+j] = y + 0.001 * (A*x - x*x*y + 0.1*lv);
    }
    for (int i = 0; i < n * n; i++) { u[i] = un[i]; v[i] = vn[i]; }
  }
  double s = 0;
  for (int i = 0; i < n * n; i++) s += u[i] * v[i];
  return s;
}
/* recurrence with weights, local arrays */
double lstm(int n, int steps, const double *restrict W, const double *restrict x) {
  double h[4] = {0}, c[4] = {0}, g[4];
  for (int t = 0; t < steps; t++) {
    for (int i = 0; i < 4; i++) {
      double a = x[t % n];
      for (int j = 0; j < 4; j++) a += W[i*4+j] * h[j];
      g[i] = tanh(a);
    }
    for (int i = 0; i < 4; i++) { c[i] = 0.9 * c[i] + 0.1 * g[i]; h[i] = tanh(c[i]) * g[i]; }
  }
  double s = 0;
  for (int i = 0; i < 4; i++) s += h[i];
  return s;
}
/* trajectory written in the loop */
double trajectory(int steps, double a, double *out) {
  double x = a;
  for (int t = 0; t < steps; t++) { x = x + 0.01 * sin(3 * x); out[t] = x; }
  double s = 0;
  for (int t = 0; t < steps; t++) s += out[t] * out[t];
  return s;
}
/* step allocates and frees */
double scratch(int n, int steps, double *restrict u) {
  for (int t = 0; t < steps; t++) {
    double *w = malloc(n * sizeof *w);
    for (int i = 0; i < n; i++) w[i] = sin(u[i]);
    for (int i = 0; i < n; i++) u[i] += 0.1 * w[n - 1 - i];
    free(w);
  }
  double s = 0;
  for (int i = 0; i < n; i++) s += u[i];
  return s;
}
/* nested: two time loops, inner named */
double nested(int outer, int inner, double a, double b) {
  double x = a;
  for (int i = 0; i < outer; i++) { /* OUTER */
    double y = x;
    for (int j = 0; j < inner; j++) /* INNER */
      y = y + 0.01 * sin(b * y);
    x = x * 0.5 + y * 0.4;
  }
  return x;
}
/* pointer moved */
double moved(int n, int steps, const double *f, double a) {
  double x = a;
  const double *p = f;
  for (int t = 0; t < steps; t++, p += n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += p[i] * x;
    x = sin(x + 0.1 * s);
  }
  return x;
}
/* buffers exchanged in some steps only */
double chosen(int n, int steps, double *restrict u, double *restrict v) {
  double *p = u, *q = v;
  for (int t = 0; t < steps; t++) {
    double s = 0;
    for (int i = 0; i < n; i++) { q[i] = p[i] + 0.01 * cos(3 * p[i]); s += q[i] * p[i]; }
    for (int i = 0; i < n; i++) p[i] *= 0.999;
    if (sin(s * t) > -0.3) { double *x = p; p = q; q = x; }
  }
  double s = 0;
  for (int i = 0; i < n; i++) s += p[i] * p[i] + q[i];
  return s;
}
/* memory that is written under two conditions, both known when the loop begins */
double bordered(int n, int steps, unsigned m, double *restrict u, double *restrict v) {
  double s = 0;
  for (int t = 0; t < steps; t++) {
    for (int i = 0; i < n; i++) u[i] = sin(u[i] + 0.1 * i);
    if (n > 3 & m > 2) v[0] = 0.5 * v[0] + u[3] * u[n - 1];
    s += v[0] * u[0];
  }
  return s;
}
/* an array of known size, indexed by numbers in memory */
double table(int steps, const int *restrict at, const double *restrict u) {
  double w[6];
  for (int i = 0; i < 6; i++) w[i] = u[i];
  for (int t = 0; t < steps; t++) w[at[t]] = sin(w[at[t]] + 0.3 * w[(t + 1) % 6]);
  double s = 0;
  for (int i = 0; i < 6; i++) s += w[i] * w[i];
  return s;
}
/* a step that calls */
__attribute__((noinline)) static double advance(int n, double *restrict u, double h) {
  double s = 0;
  for (int i = 0; i < n; i++) { u[i] += h * sin(u[i]); s += u[i]; }
  return s;
}
double called(int n, int steps, double *restrict u) {
  double s = 0;
  for (int t = 0; t < steps; t++) s = 0.5 * s + advance(n, u, 0.01 + 1e-4 * cos(s));
  return s;
}
/* as many results as numbers go in */
void outputs(int n, int steps, double *restrict u, double *restrict out) {
  for (int t = 0; t < steps; t++)
    for (int i = 0; i < n; i++) u[i] += 0.1 * sin(u[i] + u[(i + 1) % n]);
  for (int i = 0; i < n; i++) out[i] = u[i] * u[0];
}

/* --- what is refused --- */
double scattered(int steps, const int *at, double *u) {
  for (int t = 0; t < steps; t++) u[at[t]] = sin(u[at[t]]);
  return u[0];
}
double rows(int n, int steps, double *restrict u, double *restrict v) {
  double *row[2] = {u, v};
  for (int t = 0; t < steps; t++)
    for (int i = 0; i < n; i++) row[t * t % 2][i] += 0.1 * sin(row[(t + 1) * t % 2][i]);
  return u[0] + v[0];
}
double printed(int n, int steps, double *restrict u) {
  for (int t = 0; t < steps; t++) {
    for (int i = 0; i < n; i++) u[i] += 0.1 * sin(u[i]);
    printf("step\n");
  }
  return u[0];
}
double last[4];
double logged(int n, int steps, double *restrict u) {
  for (int t = 0; t < steps; t++) {
    for (int i = 0; i < n; i++) u[i] += 0.1 * sin(u[i] * last[t % 4]);
    last[t % 3] = u[0];
  }
  return u[0];
}
double kept(int n, int steps, const double *restrict u) {
  double *w = malloc(n * sizeof *w);
  for (int i = 0; i < n; i++) w[i] = u[i];
  for (int t = 0; t < steps; t++) {
    double *x = malloc(n * sizeof *x);
    for (int i = 0; i < n; i++) x[i] = sin(w[n - 1 - i]);
    free(w);
    w = x;
  }
  double s = 0;
  for (int i = 0; i < n; i++) s += w[i];
  free(w);
  return s;
}
/* writes u[k], under a condition */
double outside(int n, int steps, int k, double *restrict u) {
  for (int t = 0; t < steps; t++) {
    for (int i = 0; i < n; i++) u[i] += 0.1 * sin(u[i]);
    if (u[0] > 1e3) u[k - 1] = u[0] * u[1];
  }
  double s = 0;
  for (int i = 0; i < n; i++) s += u[i];
  return s;
}
/* memory that the loop writes is moved afterwards */
double grown(int n, int steps, const double *restrict u) {
  double *w = malloc(n * sizeof *w);
  for (int i = 0; i < n; i++) w[i] = u[i];
  for (int t = 0; t < steps; t++)
    for (int i = 0; i < n; i++) w[i] += 0.1 * sin(w[i]);
  w = realloc(w, 2 * n * sizeof *w);
  double s = 0;
  for (int i = 0; i < n; i++) { w[n + i] = w[i] * w[i]; s += w[n + i]; }
  free(w);
  return s;
}
