// Numbers stored over floats, all of them or part by part, and elements of either type behind one pointer.
#include "selfcheck.h"
#include <stdint.h>
typedef uint32_t __attribute__((may_alias)) half;
typedef uint64_t __attribute__((may_alias)) word;
struct cell { int kind; union { double d; int i[2]; } u; };
static __attribute__((noinline)) void words(double *y, int n)
{
    for (int i = 0; i < n; i++)
        *(word *)(y + i) = 0x4000000000000000u + i;
}
static __attribute__((noinline)) void halves(double *y, int n)
{
    for (int i = 0; i < n; i++) {
        ((half *)(y + i))[0] = 77 * i;
        ((half *)(y + i))[1] = 0x40000000u + i;
    }
}
static __attribute__((noinline)) void exponents(double *y, int n)
{
    for (int i = 0; i < n; i++) {
        y[i] = 0;
        ((half *)(y + i))[1] = (1023u + i) << 20;
    }
}
static double overwritten(const double *x, void (*put)(double *, int), int n)
{
    double y[8], s = 0;
    for (int i = 0; i < n; i++)
        y[i] = x[i] * x[i];
    put(y + 1, n - 2);
    for (int i = 0; i < n; i++)
        s += y[i] * x[0];
    return s;
}
static double by_words(const double *x, int n) { return overwritten(x, words, n); }
static double by_halves(const double *x, int n) { return overwritten(x, halves, n); }
static double powers_of_two(const double *x, int n) { return overwritten(x, exponents, n); }
static __attribute__((noinline)) void number(struct cell *c, int k)
{
    c->kind = 0;
    c->u.i[1] = k;
}
static double unread(const double *x, int n)
{
    struct cell *c = malloc(n * sizeof *c);
    double s = 0;
    for (int i = 0; i < n; i++) {
        c[i].kind = 1;
        c[i].u.d = x[i] * x[i];
    }
    for (int i = 0; i < n; i += 2)
        number(c + i, i - 3);
    for (int i = 0; i < n; i++)
        s += c[i].kind ? c[i].u.d : 0;
    for (int i = 0; i < n; i++)
        c[i].u.d = x[i];
    for (int i = 0; i < n; i++)
        s += c[i].u.d * c[i].u.d;
    free(c);
    return s;
}
static __attribute__((noinline)) void fill(void *p, int type, int n, double v)
{
    for (int i = 0; i < n; i++)
        if (type)
            ((double *)p)[i] = v * (i + 1);
        else
            ((int *)p)[i] = i + 7;
}
static double either(const double *x, int n)
{
    int k[5];
    double d[5], s = 0;
    fill(k, 0, 5, x[1]);
    fill(d, 1, 5, x[0]);
    for (int i = 0; i < 5; i++)
        s += d[i] * x[i % n] * k[i];
    return s;
}
static double either_allocated(const double *x, int n)  // the last mark is wider than what is left
{
    int *k = malloc(5 * sizeof *k);
    double *d = malloc(5 * sizeof *d), s = 0;
    fill(k, 0, 5, x[1]);
    fill(d, 1, 5, x[0]);
    for (int i = 0; i < 5; i++)
        s += d[i] * x[i % n] * k[i];
    free(k);
    free(d);
    return s;
}
int main(void)
{
    CHECK_GRADIENT(by_words, 5);
    CHECK_GRADIENT(by_halves, 5);
    CHECK_GRADIENT(powers_of_two, 5);
    CHECK_GRADIENT(unread, 5);
    CHECK_GRADIENT(either, 5);
    CHECK_GRADIENT(either_allocated, 5);
    return failures();
}
