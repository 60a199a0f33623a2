/* Signs set, cleared and read as bits, as small C libraries do it. */
#include "selfcheck.h"
#include <stdint.h>

static double magnitude(double x)
{
    union { double number; uint64_t bits; } u = {x};
    u.bits &= UINT64_MAX / 2;
    return u.number;
}

static double with_sign_of(double x, double y)
{
    union { double number; uint64_t bits; } u = {x}, v = {y};
    u.bits = (u.bits & UINT64_MAX / 2) | (v.bits & (uint64_t)1 << 63);
    return u.number;
}

static double f(double x) { return magnitude(x) * x + with_sign_of(x * x, -x) + with_sign_of(3, x); }

int main(void)
{
    CHECK_SLOPE(f, 1.3);
    CHECK_SLOPE(f, -0.7);
    return failures();
}
