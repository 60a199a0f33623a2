/* A function that descends along a gradient; its derivative by the step, by the start, and the second by the step. */
#include "check.h"
static double loss(const double *x, double a) {
    double sum = 0;
    for (int i = 0; i < 3; i++) sum += cosh(x[i] - a * i) + 0.1 * x[i] * x[(i + 1) % 3];
    return sum;
}
static double descend(double step, const double *start, double a) {
    double x[3];
    memcpy(x, start, sizeof x);
    for (int k = 0; k < 20; k++) {
        double d[3] = {0};
        __enzyme_autodiff_void((void *)loss, enzyme_dup, x, d, enzyme_const, a);
        for (int i = 0; i < 3; i++) x[i] -= step * d[i];
        if (fabs(d[0]) < 1e-14) break;
    }
    return loss(x, a);
}
static double by_step(double step, const double *start, double a) {
    return __enzyme_autodiff((void *)descend, enzyme_out, step, enzyme_const, start, enzyme_const, a);
}
int main(void) {
    double start[3] = {1, -0.5, 0.7}, shadow[3] = {0}, h = 1e-5;
    double slope = by_step(0.03, start, 0.4);
    double forward = __enzyme_fwddiff((void *)descend, enzyme_dup, 0.03, 1.0, enzyme_const, start, enzyme_const, 0.4);
    CHECK_DIFFERENCE(slope, (descend(0.03 + h, start, 0.4) - descend(0.03 - h, start, 0.4)) / (2 * h));
    CHECK(forward, slope);
    double second = __enzyme_fwddiff((void *)by_step, enzyme_dup, 0.03, 1.0, enzyme_const, start, enzyme_const, 0.4);
    CHECK_DIFFERENCE(second, (by_step(0.03 + h, start, 0.4) - by_step(0.03 - h, start, 0.4)) / (2 * h));
    __enzyme_autodiff_void((void *)descend, enzyme_const, 0.03, enzyme_dup, start, shadow, enzyme_const, 0.4);
    for (int i = 0; i < 3; i++) {
        double up[3], down[3];
        memcpy(up, start, sizeof up), memcpy(down, start, sizeof down);
        up[i] += h, down[i] -= h;
        CHECK_DIFFERENCE(shadow[i], (descend(0.03, up, 0.4) - descend(0.03, down, 0.4)) / (2 * h));
    }
    return failures;
}
