/* The sort of code that is differentiated: dense loops, stencils, solvers, small structures. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct { int rows, cols; double *data; } matrix;
static double get(const matrix *m, int i, int j) { return m->data[i * m->cols + j]; }
void multiply(const matrix *a, const matrix *b, matrix *c) {
    for (int i = 0; i < a->rows; i++)
        for (int j = 0; j < b->cols; j++) {
            double s = 0;
            for (int k = 0; k < a->cols; k++) s += get(a, i, k) * get(b, k, j);
            c->data[i * c->cols + j] = s;
        }
}
int cholesky(double *a, int n) {
    for (int j = 0; j < n; j++) {
        for (int k = 0; k < j; k++) a[j * n + j] -= a[j * n + k] * a[j * n + k];
        if (a[j * n + j] <= 0) return j;
        a[j * n + j] = sqrt(a[j * n + j]);
        for (int i = j + 1; i < n; i++) {
            for (int k = 0; k < j; k++) a[i * n + j] -= a[i * n + k] * a[j * n + k];
            a[i * n + j] /= a[j * n + j];
        }
    }
    return -1;
}
double logsumexp(const double *x, int n) {
    double m = x[0], s = 0;
    for (int i = 1; i < n; i++) if (x[i] > m) m = x[i];
    for (int i = 0; i < n; i++) s += exp(x[i] - m);
    return m + log(s);
}
void heat(double *u, int n, int steps, double c) {
    double *v = malloc(n * sizeof *v);
    while (steps--) {
        v[0] = u[0]; v[n - 1] = u[n - 1];
        for (int i = 1; i < n - 1; i++) v[i] = u[i] + c * (u[i - 1] - 2 * u[i] + u[i + 1]);
        memcpy(u, v, n * sizeof *v);
    }
    free(v);
}
static double newton(double (*f)(double, void *), double x, void *p) {
    for (int i = 0; i < 50; i++) {
        double h = 1e-6, y = f(x, p), d = (f(x + h, p) - y) / h, step = y / d;
        x -= step;
        if (fabs(step) < 1e-12) break;
    }
    return x;
}
static double cubic(double x, void *p) { return x * x * x - *(double *)p; }
double cube_root(double x) { return newton(cubic, 1 + x / 3, &x); }
void rotate(double angle, const double *in, double out[3]) {
    double r[3][3] = {{cos(angle), -sin(angle), 0}, {sin(angle), cos(angle), 0}, {0, 0, 1}};
    for (int i = 0; i < 3; i++) { out[i] = 0; for (int j = 0; j < 3; j++) out[i] += r[i][j] * in[j]; }
}
double fibonacci(int n, double x) { return n < 2 ? x : fibonacci(n - 1, x) + 0.5 * fibonacci(n - 2, x); }
