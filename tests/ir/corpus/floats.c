/* Floating-point formats, constants, conversions, classification and libm in every width. */
#include <complex.h>
#include <math.h>
#include <stdint.h>

float f32(float x) { return x * 0.1f + 1e-45f - 3.4e38f + (float)INFINITY * x + (x == x ? 0x1.8p-3f : NAN); }
double f64(double x) { return x * 0.1 + 5e-324 - 1.7e308 + (x > 1e3 ? 1e22 : 1e23) + 0x1.fffffffffffffp0; }
long double f80(long double x) { return x * 0.1L + 1e4000L - 3.6e-4951L + sqrtl(fabsl(x)) + sinl(x); }
__float128 f128(__float128 x) { return x * 0.1Q + 1.0Q / 3.0Q + (long double)x; }
_Float16 f16(_Float16 x, float y) { return x * (_Float16)0.333 + (_Float16)y + (_Float16)65504.0; }
__bf16 bf(__bf16 x, float y) { return x * (__bf16)1.5f + (__bf16)y; }
double widen(float a, _Float16 b, long double c, __float128 d) { return a + (double)b + (double)c + (double)d; }
int64_t to_int(double x, float y, long double z) { return (int64_t)x + (uint32_t)y + (int16_t)z + (int)(uint8_t)x; }
double from_int(int8_t a, uint64_t b, __int128 c) { return a + (double)b + (float)c; }
int classify(double x, double y) {
    return isnan(x) + 2 * isinf(y) + 4 * (x < y) + 8 * isunordered(x, y) + 16 * signbit(x) + 32 * (x != y) + 64 * isnormal(y);
}
double libm(double x, double y, int *e, double *i) {
    return sin(x) + cos(y) * exp(x) + log(fabs(y)) + pow(x, y) + fmod(x, y) + atan2(x, y) + floor(x) + ceil(y) + trunc(x)
           + copysign(x, y) + fmin(x, y) + fmax(x, y) + fma(x, y, x) + sqrt(x * x + 1) + tanh(x) + frexp(x, e)
           + ldexp(y, *e) + modf(x, i) + hypot(x, y) + cbrt(x) + erf(y) + lgamma(x) + rint(x) + round(y) + (double)lround(x);
}
double complex z(double complex a, double complex b) { return a * b / (a + 2.0 * I) + cexp(b) - conj(a); }
float complex zf(float complex a, float b) { return a * b + cimagf(a) * I; }
long double complex zl(long double complex a) { return a * a; }
double pragma_fast(const double *restrict a, int n) {
#pragma clang fp reassociate(on) contract(fast)
    double s = 0;
    for (int k = 0; k < n; k++) s += a[k] * a[k] / 3.0;
    return s;
}
double select_min(double a, double b, double c) { return a < b ? (b < c ? a : c) : -b; }
uint64_t bits(double x) { return __builtin_bit_cast(uint64_t, x) ^ 0x8000000000000000u; }
