/* Calls that say something: what is inactive, what memory holds; and batches. */
#include "check.h"

double __enzyme_call_inactive(void *, ...);
double __enzyme_ignore_derivatives(double);
float __enzyme_ignore_derivatives_float(float);
void *__enzyme_virtualreverse(void *);
void __enzyme_double(void *, unsigned long), __enzyme_integer(void *, unsigned long);
typedef struct { double d[3]; } batch;
batch __enzyme_batch(void *, ...);
two __enzyme_batch_two(void *, ...);
twof __enzyme_batch_twof(void *, ...);

static int calls;
static double logged(double x, float y) { calls++; return x * x * y; }
static double f(double x) { return __enzyme_call_inactive((void *)logged, x, 2.0f) * x; }
static double g(double x) { return __enzyme_ignore_derivatives(x * x) * x; }
static float gf(float x) { return __enzyme_ignore_derivatives_float(x * x) * x; }
static double bits(double x, double *copy) {
    __enzyme_double(copy, 16);
    memcpy(copy, &x, 8);
    unsigned char *from = (unsigned char *)copy, *to = (unsigned char *)(copy + 1);
    memcpy(to, from, 8);
    return copy[1] * copy[1];
}
static void moved(void *to, void *from) {
    __enzyme_double(from, 24);
    memcpy(to, from, 24);
}
typedef double (*operation)(double);
typedef struct { operation apply; double factor; } object;
static double square(double x) { return x * x; }
static double apply(const object *o, double x) { return o->apply(x) * o->factor; }
static double sum(double x, double *p) { return x * p[0]; }
static float quotient(float a, float b) { return a / b; }

int main(void) {
    CHECK(__enzyme_autodiff((void *)f, 3.0), 18);
    CHECK(__enzyme_fwddiff((void *)f, 3.0, 1.0), 18);
    CHECK(calls, 2);
    CHECK(__enzyme_autodiff((void *)g, 3.0), 9);
    CHECK(__enzyme_fwddiff((void *)g, 3.0, 2.0), 18);
    CHECK(__enzyme_autodiff_float((void *)gf, 3.0f), 9);
    CHECK(g(2), 8);
    double c[2], dc[2] = {0};
    CHECK(__enzyme_autodiff((void *)bits, 3.0, c, dc), 6);
    double from[3] = {1, 2, 3}, to[3], d_from[3] = {0}, d_to[3] = {4, 5, 6};
    __enzyme_autodiff_void((void *)moved, to, d_to, from, d_from);
    CHECK(d_from[2], 6);
    CHECK(d_to[0], 0);
    CHECK(to[1], 2);

    object o = {square, 5}, d_o = {__enzyme_virtualreverse((void *)square), 0};
    CHECK(d_o.apply == square, 1);
    CHECK(__enzyme_autodiff((void *)apply, &o, &d_o, 3.0), 30);
    CHECK(d_o.factor, 9);

    double p[1] = {10}, q[1] = {100};
    batch b = __enzyme_batch((void *)sum, enzyme_width, 3, enzyme_vector, 1.0, 2.0, 3.0, enzyme_scalar, p);
    CHECK(b.d[0], 10);
    CHECK(b.d[2], 30);
    two t = __enzyme_batch_two((void *)sum, enzyme_width, 2, enzyme_scalar, 7.0, enzyme_vector, p, q);
    CHECK(t.b, 700);
    twof v = __enzyme_batch_twof((void *)quotient, enzyme_width, 2, enzyme_vector, 1.0f, 2.0f, enzyme_scalar, 4.0f);
    CHECK(v.a, 0.25);
    CHECK(v.b, 0.5);
    return failures;
}
