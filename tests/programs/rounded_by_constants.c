/* Numbers rounded by adding a large constant and taking it off: steps, as `rint` is, however that is written. */
#include "selfcheck.h"
static const double big = 6755399441055744.0;
static double exponential(double x)
{
    double k = x * 1.4426950408889634 + 0x1.8p52, r, p = 1;
    k -= 0x1.8p52;
    r = x - k * 0.6931471805599453;
    for (int i = 14; i > 0; i--)
        p = 1 + p * r / i;
    return ldexp(p, (int)k);
}
static double exponentials(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += exponential(x[i]) * x[0];
    return sum;
}
static double fractions(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += (3 * x[i] - ((big + 3 * x[i]) - big)) * x[0];
    return sum;
}
/* To multiples of 1/128, and below zero: the constant is taken off first. */
static double parts(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        double t = x[i] - 0x1.8p45;
        t = t + 0x1.8p45;
        sum += exp(t) * (1 + (x[i] - t)) * x[0];
    }
    return sum;
}
static double of_singles(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        float v = (float)x[i], t = v + 12582912.0f;
        t -= 12582912.0f;
        sum += x[i] * t + (double)(v - t) * (v - t);
    }
    return sum;
}
/* The constant has the number's sign. */
static double away(double v)
{
    double c = copysign(0x1p52, v);
    return (v + c) - c;
}
static double chosen(double v) { return v < 0 ? v - 0x1p52 + 0x1p52 : v + 0x1p52 - 0x1p52; }
static double by_sign(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        double v = 5 * (x[i] - 0.8);
        sum += (v - away(v)) * x[0] + (v - chosen(1.3 * v)) * (v - chosen(v));
    }
    return sum;
}
/* No rounding: what is small beside the numbers, and another constant. */
static double sums(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += ((x[i] + 1024) - 1024) * x[i] + ((x[i] * 0x1p50 + 0x1p52) - 0x1p51) * 0x1p-50;
    return sum;
}
int main(void)
{
    CHECK_GRADIENT(exponentials, 3);
    CHECK_GRADIENT(fractions, 3);
    CHECK_GRADIENT(by_sign, 3);
    CHECK_GRADIENT(sums, 3);
    double x[3], d[3] = {0}, s[3] = {0}, t[3];
    sample(x, 3);
    __enzyme_autodiff_void((void *)parts, enzyme_dup, x, d, enzyme_const, 3);
    __enzyme_autodiff_void((void *)of_singles, enzyme_dup, x, s, enzyme_const, 3);
    for (int i = 0; i < 3; i++) {
        double near = rint(x[i] * 128) / 128, whole = rint(x[i]), first = i ? 0 : parts(x, 3) / x[0];
        expect("parts", i, d[i], exp(near) * x[0] + first);
        expect_within("singles", i, s[i], whole + 2 * (x[i] - whole), 1e-6);
        clear(t, 3);
        t[i] = 1;
        expect("parts, forward", i, __enzyme_fwddiff((void *)parts, enzyme_dup, x, t, enzyme_const, 3), d[i]);
    }
    return failures();
}
