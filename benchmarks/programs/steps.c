/* Diffusion with a reaction, a million steps: two buffers that take turns. */
double steps(int cells, int count, const double *restrict start, double rate, double *restrict a,
             double *restrict b) {
  for (int i = 0; i < cells; i++) a[i] = b[i] = start[i];
  double *u = a, *v = b;
  for (int t = 0; t < count; t++) {
    for (int i = 1; i < cells - 1; i++)
      v[i] = u[i] + 0.2 * (u[i - 1] - 2 * u[i] + u[i + 1]) + rate * u[i] * (1 - u[i]) * (u[i] - 0.3);
    double *other = u;
    u = v;
    v = other;
  }
  double sum = 0;
  for (int i = 0; i < cells; i++) sum += u[i] * u[i];
  return sum;
}
