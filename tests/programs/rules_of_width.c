/* Rules of the user's: several adjoints at once, and a reverse sweep that is run again. */
#include "selfcheck.h"
typedef struct { double *tape, value; } augmented;
typedef struct { void *tape; double value; } kept;
kept __enzyme_augmentfwd(void *, ...);
double __enzyme_reverse(void *, ...);
static double tapes[64];
static int used;
__attribute__((noinline)) static double square(double x) { return x * x; }
static augmented square_forward(double x)
{
    tapes[used] = x;
    augmented a = {&tapes[used++], x * x};
    return a;
}
static double square_reverse(double x, double seed, double *tape) { return 10 * *tape * seed; }
void *__enzyme_register_gradient_square[] = {(void *)square, (void *)square_forward, (void *)square_reverse};
void *__enzyme_nofree_square[] = {(void *)square_reverse};
static void product(const double *x, double *y) { *y = x[0] * x[1]; } /* writes memory, keeps no tape */
static void product_forward(const double *x, double *dx, double *y, double *dy) { *y = x[0] * x[1]; }
static void product_reverse(const double *x, double *dx, double *y, double *dy)
{
    dx[0] += 2 * *dy * x[1];
    dx[1] += 3 * *dy * x[0];
    *dy = 0;
}
void *__enzyme_register_gradient_product[] = {(void *)product, (void *)product_forward, (void *)product_reverse};
static double f(double x)
{
    double sum = 0;
    for (int i = 0; i < 3; i++)
        sum += square(x) * (i + 1);
    return sum;
}
static void g(const double *x, double *y)
{
    product(x, y);
    *y *= square(x[0]);
}
int main(void)
{
    kept a = __enzyme_augmentfwd((void *)f, enzyme_out, 2.0);
    expect("value", 0, a.value, 24);
    expect("first", 0, __enzyme_reverse((void *)f, enzyme_nofree, enzyme_out, 2.0, 1.0, a.tape), 120);
    expect("again", 0, __enzyme_reverse((void *)f, enzyme_nofree, enzyme_out, 2.0, 2.0, a.tape), 240);
    expect("last", 0, __enzyme_reverse((void *)f, enzyme_out, 2.0, 1.0, a.tape), 120);
    double x[2] = {2, 3}, d[3][2] = {{0}}, y, s[3] = {1, 2, 3};
    __enzyme_autodiff_void((void *)g, enzyme_width, 3, enzyme_dup, x, d[0], d[1], d[2], enzyme_dup, &y, s, s + 1, s + 2);
    for (int lane = 0; lane < 3; lane++) {
        expect("lane", 2 * lane, d[lane][0], (lane + 1) * (4 * 2 * 3 + 6 * 20));
        expect("lane", 2 * lane + 1, d[lane][1], (lane + 1) * 4 * 2 * 3);
    }
    return failures();
}
