/* Tapes in the caller's memory: what the forward sweep returns is the rest, without the tape. */
#include "selfcheck.h"
typedef struct { double at[3]; } three;
static double f(const double *x, int n)
{
    double s = 0, v = 1;
    for (int i = 0; i < n; i++) {
        v *= sin(x[i]) + 1;
        s += v * v;
    }
    return s;
}
static three g(const double *x, double k)
{
    three r = {{x[0] * k, x[1] * x[1], k * k}};
    return r;
}
static double *h(double *x, double *y, int i)
{
    *y = x[i] * x[i];
    return i ? y : x;
}
size_t __enzyme_augmentsize(void *, ...);
double __enzyme_augmentfwd_value(void *, ...);
three __enzyme_augmentfwd_three(void *, ...);
typedef struct { double *p, *shadow; } pointers;
pointers __enzyme_augmentfwd_pointers(void *, ...);
typedef struct { void *tape; double value; } both;
both __enzyme_augmentfwd_both(void *, ...);
void __enzyme_reverse_void(void *, ...);
double __enzyme_reverse_number(void *, ...);
int main(void)
{
    enum { n = 5 };
    double x[n], dx[3][n];
    size_t size = __enzyme_augmentsize((void *)f, enzyme_dup, enzyme_const);
    void *tape[3];
    for (int k = 0; k < 3; k++) {
        sample(x, n);
        clear(dx[k], n);
        tape[k] = malloc(size);
        double v;
        if (k < 2)
            v = __enzyme_augmentfwd_value((void *)f, enzyme_allocated, size, enzyme_tape, tape[k], enzyme_dup, x, dx[k],
                                          enzyme_const, n);
        else
            v = __enzyme_augmentfwd_both((void *)f, enzyme_allocated, size, enzyme_tape, tape[k], enzyme_dup, x, dx[k],
                                         enzyme_const, n).value;
        expect("value", k, v, f(x, n));
    }
    clear(x, n);
    for (int k = 2; k >= 0; k--) {
        __enzyme_reverse_void((void *)f, enzyme_allocated, size, enzyme_tape, tape[k], enzyme_dup, x, dx[k], enzyme_const,
                              n, k + 1.0);
        for (int i = 0; i < n; i++)
            expect("f", i, dx[k][i], (k + 1) * slope_by(f, n, i));
    }
    double y[2] = {2, 3}, dy[2] = {0};
    three r = __enzyme_augmentfwd_three((void *)g, enzyme_allocated, size, enzyme_tape, tape[0], enzyme_dup, y, dy,
                                        enzyme_out, 4.0);
    expect("g", 0, r.at[0], 8);
    expect("g", 2, r.at[2], 16);
    three seed = {{1, 2, 3}};
    double dk = __enzyme_reverse_number((void *)g, enzyme_allocated, size, enzyme_tape, tape[0], enzyme_dup, y, dy,
                                        enzyme_out, 4.0, seed);
    expect("dk", 0, dk, 2 + 3 * 8);
    expect("dy", 0, dy[0], 4);
    expect("dy", 1, dy[1], 12);
    double z, dz = 0;
    dy[1] = 0;
    pointers p = __enzyme_augmentfwd_pointers((void *)h, enzyme_allocated, size, enzyme_tape, tape[1], enzyme_dup, y, dy,
                                              enzyme_dup, &z, &dz, enzyme_const, 1);
    expect("its pointers", 0, p.p == &z && p.shadow == &dz, 1);
    *p.shadow = 2;
    __enzyme_reverse_void((void *)h, enzyme_allocated, size, enzyme_tape, tape[1], enzyme_dup, y, dy, enzyme_dup, &z, &dz,
                          enzyme_const, 1);
    expect("h", 1, dy[1], 2 * 2 * 3);
    for (int k = 0; k < 3; k++)
        free(tape[k]);
    return failures();
}
