#include <math.h>
#include <stdio.h>
#include <string.h>
enum { N = 37 };
double gather(const double *restrict x, const int *restrict idx, int n);
void scatter(const double *restrict x, double *restrict y, const int *restrict idx, int n);
void maskedstore(const double *restrict x, double *restrict y, int n);
float fgather(const float *restrict x, const int *restrict idx, int n);
void strided(const double *restrict x, double *restrict y, int n, int m);
double minimum(const double *restrict x, int n);
int compress(const double *restrict x, double *restrict y, int n);
void mixed(const double *restrict x, float *restrict y, int n);
double matrix(const double *a, const double *b);
void matrix_store(const double *a, const double *b, double *c);
struct record { double k; int id; float w; };
struct pair { int id; float w; };
double records(const double *restrict x, struct record *restrict r, int n);
float pairs(const double *restrict x, struct pair *restrict p, int n);
static int idx[N];
double program(const double *x, int which) {
    double y[4 * N], s = 0; float z[N], w[N];
    for (int i = 0; i < 4 * N; i++) y[i] = x[i % N] * 0.5 - 0.1;
    for (int i = 0; i < N; i++) z[i] = 0, w[i] = x[i];
    switch (which) {
    case 0: return gather(x, idx, N / 2);
    case 1: scatter(x, y, idx, N / 2); break;
    case 2: maskedstore(x, y, N); break;
    case 3: return fgather(w, idx, N / 2);
    case 4: strided(x, y, N / 4, 3); break;
    case 5: return minimum(x, N);
    case 6: compress(x, y, N); break;
    case 7: mixed(x, z, N); break;
    case 8: return matrix(x, x + 9);
    case 9: matrix_store(x, x + 20, y); break;
    case 10: { struct record r[N]; return records(x, r, N); }
    case 11: { struct pair p[N]; return pairs(x, p, N); }
    }
    for (int i = 0; i < N; i++) s += sin(y[i] + i) + z[i] * i;
    return s;
}
extern int enzyme_dup, enzyme_const;
double __enzyme_autodiff(void *, ...), __enzyme_fwddiff(void *, ...);
int main(void) {
    int bad = 0;
    for (int i = 0; i < N; i++) idx[i] = (i * 7) % N;
    for (int which = 0; which < 12; which++) {
        double x[N], d[N] = {0}, t[N], along = 0;
        for (int i = 0; i < N; i++) x[i] = sin(3 * i + 1) + 0.1, t[i] = cos(i);
        __enzyme_autodiff((void *)program, enzyme_dup, x, d, enzyme_const, which);
        double tol = which == 3 || which == 7 || which > 9 ? 1e-3 : 1e-6, h = which == 3 || which == 7 || which > 9 ? 1e-2 : 1e-6;
        for (int i = 0; i < N; i++) {
            double k = x[i]; x[i] = k + h; double p = program(x, which); x[i] = k - h; double m = program(x, which); x[i] = k;
            double e = (p - m) / (2 * h); along += e * t[i];
            if (fabs(d[i] - e) > tol * (1 + fabs(e))) printf("%d: d[%d] = %g, not %g\n", which, i, d[i], e), bad++;
        }
        double f = __enzyme_fwddiff((void *)program, enzyme_dup, x, t, enzyme_const, which);
        if (fabs(f - along) > 5 * tol * (1 + fabs(along))) printf("%d: forward %g, not %g\n", which, f, along), bad++;
    }
    puts(bad ? "bad" : "all right");
    return bad != 0;
}
