/* Buffers that variables hold from before, in lanes, forwards and by split derivatives. */
#include "selfcheck.h"
#define N 6
void *__enzyme_augmentfwd(void *, ...);
void __enzyme_reverse(void *, ...);
static double one[N], two[N], *now, *next, *block, *other;
static void exchange(double **a, double **b)
{
    double *t = *a;
    *a = *b, *b = t;
}
static void arrays(const double *x, double *y)
{
    memcpy(now, x, sizeof one);
    for (int s = 0; s < 3; s++, exchange(&now, &next))
        for (int i = 0; i < N; i++)
            next[i] = now[i] * now[(i + 1) % N] + 0.1 * s;
    *y = 0;
    for (int i = 0; i < N; i++)
        *y += now[i] * (i + 1);
}
static void blocks(const double *x, double *y)
{
    memcpy(block, x, sizeof one);
    for (int s = 0; s < 3; s++, exchange(&block, &other))
        for (int i = 0; i < N; i++)
            other[i] = sin(block[i]) * block[(i + 1) % N];
    *y = block[0] * block[1] + other[2];
}
static void split(const double *x, double *d)
{
    double y, dy = 1, y2, dy2 = 2;
    clear(d, N);
    void *tape = __enzyme_augmentfwd((void *)arrays, enzyme_dup, x, d, enzyme_dup, &y, &dy);
    void *again = __enzyme_augmentfwd((void *)arrays, enzyme_dup, x, d, enzyme_dup, &y2, &dy2);
    __enzyme_reverse((void *)arrays, enzyme_dup, x, d, enzyme_dup, &y2, &dy2, again);
    __enzyme_reverse((void *)arrays, enzyme_dup, x, d, enzyme_dup, &y, &dy, tape);
}
static double value(void (*f)(const double *, double *), const double *x)
{
    double y;
    f(x, &y);
    return y;
}
static double differences(void (*f)(const double *, double *), double *x, int i)
{
    const double h = 1e-4, at = x[i];
    double found[2];
    for (int k = 1; k <= 2; k++) {
        x[i] = at + k * h;
        found[k - 1] = value(f, x);
        x[i] = at - k * h;
        found[k - 1] -= value(f, x);
        x[i] = at;
    }
    return (8 * found[0] - found[1]) / (12 * h);
}
#define CHECK(f)                                                                                                      \
    for (int i = 0; i < N; i++) {                                                                                     \
        double d1[N] = {0}, d2[N] = {0}, v1[N] = {0}, v2[N] = {0}, y, dy1 = 1, dy2 = -2, t1, t2;                      \
        double wanted = differences(f, x, i);                                                                         \
        __enzyme_autodiff_void((void *)f, enzyme_width, 2, enzyme_dup, x, d1, d2, enzyme_dup, &y, &dy1, &dy2);        \
        expect(#f " in lanes", i, d1[i], wanted);                                                                     \
        expect(#f " in the other lane", i, d2[i], -2 * wanted);                                                       \
        v1[i] = 1, v2[i] = 3;                                                                                         \
        __enzyme_fwddiff_void((void *)f, enzyme_width, 2, enzyme_dup, x, v1, v2, enzyme_dup, &y, &t1, &t2);           \
        expect(#f " forwards", i, t1, wanted);                                                                        \
        expect(#f " forwards, the other", i, t2, 3 * wanted);                                                         \
    }
int main(void)
{
    double x[N], d[N];
    now = two, next = one;
    block = malloc(sizeof one), other = malloc(sizeof one);
    sample(x, N);
    CHECK(arrays)
    CHECK(blocks)
    split(x, d);
    for (int i = 0; i < N; i++)
        expect("split", i, d[i], 3 * differences(arrays, x, i));
    free(block), free(other);
    return failures();
}
