/* Sweeps apart inside functions that are differentiated themselves: tapes in a loop, a struct as seed, a tape read twice. */
#include "selfcheck.h"
typedef struct { double a, b, c; } three;
struct kept { void *tape; three value; };
void *__enzyme_augmentfwd_tape(void *, ...);
struct kept __enzyme_augmentfwd_three(void *, ...);
three __enzyme_reverse_three(void *, ...);
double __enzyme_reverse_one(void *, ...);
three __enzyme_autodiff_three(void *, ...);
__attribute__((noinline)) static double g(double a, double b, double c, int n)
{
    double s = a * b + c;
    for (int i = 0; i < n; i++)
        s = sin(s * a) + b * c;
    return s;
}
__attribute__((noinline)) static three h(double a, int n)
{
    three r = {a, a * a, sin(a)};
    for (int i = 0; i < n; i++)
        r.a = r.a * r.b + r.c, r.c = r.c * 0.5 + r.a;
    return r;
}
static double in_a_loop(double a, double b, double c, int n)
{
    void *tapes[3];
    double s = 0;
    for (int i = 0; i < 3; i++)
        tapes[i] = __enzyme_augmentfwd_tape((void *)g, enzyme_out, a + i, enzyme_out, b, enzyme_out, c, enzyme_const, n);
    for (int i = 2; i >= 0; i--) {
        three d = __enzyme_reverse_three((void *)g, enzyme_out, a + i, enzyme_out, b, enzyme_out, c, enzyme_const, n,
                                         1.0 + i * b, tapes[i]);
        s += d.a * (i + 1) + d.b * d.c;
    }
    return s;
}
static double with_a_struct(double a, double b, double c, int n)
{
    struct kept k = __enzyme_augmentfwd_three((void *)h, enzyme_out, a, enzyme_const, n);
    three seed = {b, c, k.value.a};
    return k.value.c * __enzyme_reverse_one((void *)h, enzyme_out, a, enzyme_const, n, seed, k.tape);
}
static double read_twice(double a, double b, double c, int n)
{
    double s = 0;
    void *tape = __enzyme_augmentfwd_tape((void *)g, enzyme_out, a, enzyme_out, b, enzyme_out, c, enzyme_const, n);
    for (int i = 0; i < 2; i++) {
        three d = __enzyme_reverse_three((void *)g, enzyme_nofree, enzyme_out, a, enzyme_out, b, enzyme_out, c,
                                         enzyme_const, n, c * i + 1, tape);
        s += d.a * d.b + d.c;
    }
    three d = __enzyme_reverse_three((void *)g, enzyme_out, a, enzyme_out, b, enzyme_out, c, enzyme_const, n, s, tape);
    return s + d.a;
}
#define TRY(f) \
    do { \
        double p[3] = {0.7, 0.4, 1.1}, near[4], width = 1e-4; \
        three d = __enzyme_autodiff_three((void *)f, p[0], p[1], p[2], 2); \
        for (int i = 0; i < 3; i++) { \
            double v = p[i]; \
            for (int j = 0; j < 4; j++) { \
                p[i] = v + stencil_steps[j] * width; \
                near[j] = f(p[0], p[1], p[2], 2); \
            } \
            p[i] = v; \
            expect(#f, i, (&d.a)[i], stencil(near, width)); \
        } \
    } while (0)
int main(void)
{
    TRY(in_a_loop);
    TRY(with_a_struct);
    TRY(read_twice);
    return failures();
}
