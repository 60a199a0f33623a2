#include <math.h>
double gather(const double *restrict x, const int *restrict idx, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += x[idx[i]] * x[idx[i]];
    return s;
}
void scatter(const double *restrict x, double *restrict y, const int *restrict idx, int n) {
    for (int i = 0; i < n; i++) y[idx[i]] = x[i] * x[i];
}
void maskedstore(const double *restrict x, double *restrict y, int n) {
    for (int i = 0; i < n; i++) if (x[i] > 0) y[i] = x[i] * x[i] + y[i];
}
float fgather(const float *restrict x, const int *restrict idx, int n) {
    float s = 0;
    for (int i = 0; i < n; i++) s += x[idx[i]] * x[i];
    return s;
}
void strided(const double *restrict x, double *restrict y, int n, int m) {
    for (int i = 0; i < n; i++) y[i] = x[i * m] * x[3 * i + 1];
}
double minimum(const double *restrict x, int n) {
    double m = x[0];
    for (int i = 0; i < n; i++) m = fmin(m, x[i]);
    return m;
}
int compress(const double *restrict x, double *restrict y, int n) {
    int k = 0;
    for (int i = 0; i < n; i++) if (x[i] > 0) y[k++] = x[i] * 2;
    return k;
}
void mixed(const double *restrict x, float *restrict y, int n) { for (int i = 0; i < n; i++) y[i] = (float)(x[i] * x[i]); }
struct record { double k; int id; float w; };
struct pair { int id; float w; };
/* LLVM moves the members of several records as lanes of one vector. */
double records(const double *restrict x, struct record *restrict r, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) r[i].k = x[i] * x[i], r[i].id = (i * 7) % 5, r[i].w = (float)x[i] * 2;
    for (int i = 0; i < n; i++) s += r[i].k * (i + 1) + r[i].w * r[i].id;
    return s;
}
float pairs(const double *restrict x, struct pair *restrict p, int n) {
    float s = 0;
    for (int i = 0; i < n; i++) p[i].id = (i * 7) % 5, p[i].w = (float)x[i] * 2;
    for (int i = 0; i < n; i++) s += p[i].w * p[i].w * p[i].id;
    return s;
}
typedef double m4 __attribute__((matrix_type(3, 3)));
double matrix(const double *a, const double *b) {
    m4 x = __builtin_matrix_column_major_load(a, 3, 3, 3), y = __builtin_matrix_column_major_load(b, 3, 3, 3);
    m4 z = __builtin_matrix_transpose(x * y) + x;
    return z[0][0] + z[1][2] * z[2][1];
}
void matrix_store(const double *a, const double *b, double *c) {
    m4 x = __builtin_matrix_column_major_load(a, 3, 3, 4), y = __builtin_matrix_column_major_load(b, 3, 3, 3);
    __builtin_matrix_column_major_store(x * y * 2.0, c, 3);
}
