/* Primal results that are not wanted: their memory may be null. */
#include "check.h"

static void stored(double x, double *out) { *out = x * x; }
static void accumulated(const float *x, int n, float *out) {
    *out = 0;
    for (int i = 0; i < n; i++) *out += x[i] * *out + x[i];
}
static void array(const double *x, int n, double *out) {
    for (int i = 0; i < n; i++) out[i] = x[i] * x[i];
}
static void with_sincos(double x, double *s) { double c; sincos(x, s, &c); *s *= c; }
__attribute__((noinline)) static void put(double *to, double v) { to[1] = v * v; }
static void through_call(double x, double *out) { put(out, x); out[0] = 3 * x; }
static void cleared(const double *x, double *out) { memset(out, 0, 16); memcpy(out + 2, x, 16); }

int main(void) {
    double *none = 0, d = 1;
    CHECK(__enzyme_autodiff((void *)stored, 3.0, enzyme_dupnoneed, none, &d), 6);
    CHECK(d, 0);
    __enzyme_fwddiff_void((void *)stored, 3.0, 2.0, enzyme_dupnoneed, none, &d);
    CHECK(d, 12);
    float x[3] = {0.5f, 2, 1}, dx[3] = {0}, df = 1;
    __enzyme_autodiff_void((void *)accumulated, x, dx, 3, enzyme_dupnoneed, (float *)0, &df);
    CHECK(dx[0], (1 + x[1]) * (1 + x[2]));
    CHECK(dx[2], (1 + x[0]) * (1 + x[1]));
    double y[2] = {3, 4}, dy[2] = {0}, dd[4] = {1, 10, 0, 0};
    __enzyme_autodiff_void((void *)array, y, dy, 2, enzyme_dupnoneed, none, dd);
    CHECK(dy[0], 6);
    CHECK(dy[1], 80);
    d = 1;
    CHECK(__enzyme_autodiff((void *)with_sincos, 0.3, enzyme_dupnoneed, none, &d), cos(0.6));
    dd[0] = 1, dd[1] = 10;
    CHECK(__enzyme_autodiff((void *)through_call, 3.0, enzyme_dupnoneed, none, dd), 3 + 60);
    dy[0] = 0, dd[0] = dd[1] = 5, dd[2] = 7;
    __enzyme_autodiff_void((void *)cleared, y, dy, enzyme_dupnoneed, none, dd);
    CHECK(dd[0], 0);
    CHECK(dy[0], 7);
    return failures;
}
