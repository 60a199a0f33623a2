/* What fmax, fmin and fdim leave has no part in the result, however steep the rest of the way is there. */
#include "selfcheck.h"
static double clipped(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += sqrt(fmax(x[i] - 1, 0)) * x[(i + 1) % n] + cbrt(fdim(x[i], 1)) + log(1 + sqrt(-fmin(x[i] - 1, 0)));
    return sum;
}
static double variance(const double *x, int n) /* full truncation, as with Heston's model */
{
    double v = x[0] - 2, s = 1;
    for (int i = 0; i < n; i++) {
        double positive = fmax(v, 0);
        s *= exp(-positive / 2 + sqrt(positive) * x[i]);
        v += x[n - 1] * (1.5 - positive) + sqrt(positive) * x[i];
    }
    return s;
}
static double steep(double x) { return fmax(sqrt(x), 1) + fmin(2, 3 + cbrt(x)) + fdim(sqrt(x), 2) + x; }
static double limited(double x) { return x < -1 ? -1 : x > 1 ? 1 : x; }
static double angle(const double *x, int n) /* of vectors that may be parallel */
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        double cosine = limited(x[i] * 3), sine2 = 0;
        if (x[i] < 1)
            sine2 = 1 - x[i] * x[i];
        sum += acos(cosine) * x[(i + 1) % n] + asin(fmin(x[i] * 2, 1)) + sqrt(2 * sine2) + pow(x[i] > 1 ? x[i] - 1 : 0, 0.3);
    }
    return sum;
}
/* In forward mode a zero tangent meets an infinite slope: it is a strong zero, as it says that nothing depends on x. */
#define CHECK(f, n) \
    do { \
        double x[n], gradient[n], tangent[n]; \
        sample(x, n); \
        clear(gradient, n); \
        __enzyme_autodiff_void((void *)f, enzyme_dup, x, gradient, enzyme_const, n); \
        for (int i = 0; i < n; i++) { \
            clear(tangent, n); \
            tangent[i] = 1; \
            double one = __enzyme_fwddiff((void *)f, enzyme_strong_zero, enzyme_dup, x, tangent, enzyme_const, n); \
            expect(#f ", reverse", i, gradient[i], slope_by(f, n, i)); \
            expect(#f ", forward", i, one, slope_by(f, n, i)); \
            one = __enzyme_fwddiff((void *)f, enzyme_dup, x, tangent, enzyme_const, n); \
            expect(#f ", forward, plain", i, one, slope_by(f, n, i)); \
        } \
    } while (0)
int main(void)
{
    CHECK(clipped, 4);
    CHECK(variance, 5);
    CHECK(angle, 4);
    expect("forward", 0, __enzyme_fwddiff((void *)steep, 0.0, 1.0), 1);
    expect("reverse", 0, __enzyme_autodiff((void *)steep, enzyme_strong_zero, 0.0), 1);
    return failures();
}
