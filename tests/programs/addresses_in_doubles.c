/* Addresses kept as the bits of doubles, which functions take and return by value. */
#include "selfcheck.h"
#include <stdint.h>

static __attribute__((noinline)) double kept(uintptr_t address)
{
    double bits;
    memcpy(&bits, &address, sizeof bits);
    return bits;
}

__attribute__((noinline)) uintptr_t address_of(double bits)
{
    uintptr_t address;
    memcpy(&address, &bits, sizeof address);
    return address;
}

static double returned(const double *x, int n)
{
    double bits = kept((uintptr_t)x), sum = 0;
    for (int i = 0; i < n; i++)
        sum += sin(((const double *)address_of(bits))[i]);
    return sum;
}

struct boxed {
    int points;
    double bits;
};

static struct boxed box_of(const double *p)
{
    struct boxed b = {1, 0};
    memcpy(&b.bits, &p, sizeof p);
    return b;
}

static __attribute__((noinline)) double unboxed(struct boxed b, int i)
{
    if (!b.points)
        return b.bits;
    const double *p;
    memcpy(&p, &b.bits, sizeof p);
    return p[i];
}

static double in_records(const double *x, int n)
{
    struct boxed all[3] = {box_of(x), {0, x[0] * x[0]}, box_of(x + 1)};
    double sum = 0;
    for (int i = 0; i < n - 1; i++)
        sum += unboxed(all[i % 3], i) * unboxed(all[(i + 1) % 3], i % 2);
    return sum;
}

static __attribute__((noinline)) void copied(double *to, const double *from, int n)
{
    for (int i = 0; i < n; i++)
        to[i] = from[i];
}

static __attribute__((noinline)) void reversed(double *a, int n)
{
    for (int i = 0; i < n / 2; i++) {
        double t = a[i];
        a[i] = a[n - 1 - i];
        a[n - 1 - i] = t;
    }
}

static double in_arrays(const double *x, int n) /* four */
{
    double squares[4], a[8], b[8], sum = 0;
    for (int i = 0; i < n; i++) {
        double *p = squares + i;
        squares[i] = x[i] * x[i];
        memcpy(a + i, &p, sizeof p);
        a[4 + i] = x[i] * (i + 1);
    }
    copied(b, a, 8);
    reversed(b, 8);
    for (int i = 0; i < n; i++) {
        double *p;
        memcpy(&p, b + 4 + i, sizeof p);
        sum += *p * b[i];
    }
    return sum;
}

int main(void)
{
    CHECK_EVERY_WAY(in_arrays, 4);
    CHECK_EVERY_WAY(returned, 4);
    CHECK_EVERY_WAY(in_records, 4);
    return failures();
}
