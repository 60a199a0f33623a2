/* Vectors that are copied onto themselves, swapped with themselves or added to themselves: a copy's reverse cleared the
 * adjoints that it had just added. */
#include <cblas.h>
#include <math.h>
#include <stdio.h>

extern int enzyme_dup, enzyme_out;
double __enzyme_autodiff(void *, ...);
double __enzyme_fwddiff(void *, ...);

enum { N = 3, STEPS = 2 };

static void end(const double *x, double *out) { *out = x[0] * x[0] + x[2] * x[4]; }
static void copied(double *x, double a, double *out) { cblas_dcopy(N, x, STEPS, x, STEPS), end(x, out), *out *= a; }
static void backwards(double *x, double a, double *out) { cblas_dcopy(N, x, -STEPS, x, -STEPS), end(x, out), *out *= a; }
static void swapped(double *x, double a, double *out) { cblas_dswap(N, x, STEPS, x, STEPS), end(x, out), *out *= a; }
static void added(double *x, double a, double *out) { cblas_daxpy(N, a, x, STEPS, x, STEPS), end(x, out); }

typedef void function(double *, double, double *);

static double slope(function *f, int k) {
    const double h = 1e-6;
    double ends[2];
    for (int side = 0; side < 2; side++) {
        double x[] = {1, 0.5, 2, -0.5, 3}, a = 1.3, by = side ? h : -h;
        *(k < 5 ? &x[k] : &a) += by;
        f(x, a, &ends[side]);
    }
    return (ends[1] - ends[0]) / (2 * h);
}

#define CHECK(f)                                                                                                     \
    do {                                                                                                             \
        double x[] = {1, 0.5, 2, -0.5, 3}, dx[6] = {0}, out, dout = 1;                                               \
        dx[5] = __enzyme_autodiff((void *)f, enzyme_dup, x, dx, enzyme_out, 1.3, enzyme_dup, &out, &dout);           \
        for (int k = 0; k < 6; k++) {                                                                                \
            double y[] = {1, 0.5, 2, -0.5, 3}, dy[6] = {0}, d = 0;                                                   \
            dy[k] = 1;                                                                                               \
            __enzyme_fwddiff((void *)f, enzyme_dup, y, dy, enzyme_dup, 1.3, dy[5], enzyme_dup, &out, &d);            \
            wrong += fabs(dx[k] - slope(f, k)) > 1e-6 || fabs(d - slope(f, k)) > 1e-6;                               \
        }                                                                                                            \
        if (wrong) return printf(#f " is wrong\n"), 1;                                                               \
    } while (0)

int main(void) {
    int wrong = 0;
    CHECK(copied);
    CHECK(backwards);
    CHECK(swapped);
    CHECK(added);
    puts("all right");
    return 0;
}
