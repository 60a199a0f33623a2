/* A zero adjoint or tangent that is given (not used, not chosen, inactive) contributes nothing where a partial is
   infinite. One that arithmetic made means nothing: the derivative of sqrt(x) * sqrt(x) at 0 is 1, and never 0. */
#include "selfcheck.h"
#include <complex.h>
typedef struct { double x, y; } point;
static double dot(point a, point b) { return a.x * b.x + a.y * b.y; }
static double length(point a) { return sqrt(dot(a, a)); }
static point minus(point a, point b) { return (point){a.x - b.x, a.y - b.y}; }

/* Its result is only compared in one place: points that have not moved have distance 0. */
static int moved(int n, const point *p, const point *from)
{
    for (int i = 0; i < n; i++)
        if (length(minus(p[i], from[i])) > 0.1)
            return 1;
    return 0;
}
static double walk(const double *xy, int numbers)
{
    int n = numbers / 2;
    point p[3], from[3];
    for (int i = 0; i < n; i++)
        p[i] = from[i] = (point){xy[2 * i], xy[2 * i + 1]};
    double sum = 0;
    for (int t = 0; t < 9; t++) {
        if (moved(n, p, from))
            for (int i = 0; i < n; i++)
                from[i] = p[i];
        for (int i = 0; i < n; i++)
            p[i].x += 0.03 * p[i].y, p[i].y -= 0.02 * p[i].x * p[i].x;
    }
    for (int i = 0; i < n; i++)
        sum += dot(p[i], p[i]) * (1 + length(minus(p[i], (point){3, 3})));
    return sum;
}

/* The same, counted by what writes active memory, too: the call goes back, without an adjoint of its result. */
static __attribute__((noinline)) double length_noting(point a, double *largest)
{
    *largest = a.x * a.x;
    return length(a);
}
static double noted(double a, double b)
{
    double largest, sum = 0;
    if (length_noting((point){a, b}, &largest) < 1)
        sum = largest;
    return sum + a + length_noting((point){a + 3, b + 4}, &largest);
}

static double floored(double a, double b) { return a / fmax(sqrt(a * a + b * b), 1e-3); }
static double chosen(double a, double b)
{
    double r = sqrt(a * a + b * b);
    return a / (r > 1e-3 ? r : 1e-3);
}
static __attribute__((noinline)) double norm(double a, double b) { return sqrt(a * a + b * b); }
static double by_call(double a, double b) { return a / fmax(norm(a, b), 1e-3) + norm(a + 3, b + 4); }
static __attribute__((noinline)) double root(double x) { return sqrt(x); }
static double left_roots(double x) { return fmax(root(x), 1) + fmax(sqrt(sqrt(x)), 1) + x; }
static double left_branch(double x) { return x > 1 ? sqrt(sqrt(x)) : 3 * x; }

/* Chains of poles whose first adjoint or tangent is given and zero: x[0] = 0, y[1] = 2 x[0]. */
static __attribute__((noinline)) double root_of_root(double x) { return sqrt(sqrt(x)); }
static __attribute__((noinline)) double larger(double a, double b) { return a > b ? a : b; }
static __attribute__((noinline)) double roots(double x, int n) { return n == 0 ? x : sqrt(roots(x, n - 1)); }
static void chain(const double *x, double *y) { y[1] = 2 * x[0], y[0] = sqrt(sqrt(x[0])); }
static void chain_called(const double *x, double *y) { y[1] = 2 * x[0], y[0] = root_of_root(x[0]); }
static void chain_of_call(const double *x, double *y) { y[1] = 2 * x[0], y[0] = sqrt(root(x[0])); }
static void chain_of_calls(const double *x, double *y) { y[1] = 2 * x[0], y[0] = root(root(x[0])); }
static void chain_twice(const double *x, double *y)
{
    double r = sqrt(x[0]);
    y[1] = 2 * x[0], y[0] = r, y[2] = sqrt(r);
}
static void chain_in_loop(const double *x, double *y)
{
    double r = x[0];
    for (int i = 0; i < 3 && r < 2; i++)
        r = sqrt(r);
    y[1] = 2 * x[0], y[0] = r;
}
static void chain_recursive(const double *x, double *y) { y[1] = 2 * x[0], y[0] = roots(x[0], 3); }
static __attribute__((noinline)) double square(double x) { return x * x; }
static __attribute__((noinline)) double same(double x) { return x; }
static double (*chosen_functions[2])(double) = {root, same};
static int first;
static void chain_through_pointer(const double *x, double *y)
{
    y[1] = 2 * x[0], y[0] = sqrt(chosen_functions[first](x[0]));
}
static void chain_in_pointer(const double *x, double *y)
{
    y[1] = 2 * x[0], y[0] = root(chosen_functions[first](x[0]));
}
static void chain_of_complex(const float *x, float *y) /* of one vector each */
{
    float complex v = csqrtf(csqrtf(__builtin_complex(x[0], x[1])));
    y[0] = crealf(v) + cimagf(v), y[1] = 2 * x[0];
}
static double left_by_pointer(double x) { return square(larger(chosen_functions[first](sqrt(x)), 1)) + x; }
static double left_chain(double x) { return fmax(root_of_root(x), 1) + larger(root_of_root(x), 1) + x; }
static __attribute__((noinline)) double later(double a, double b)
{
    if (a > b)
        return a;
    return b;
}
static double left_multiplied(double x) { return square(larger(sqrt(x), 1)) + exp(later(root_of_root(x), 1)) + x; }
static double left_twice(double x) { return square(larger(sqrt(x), later(larger(cbrt(x), 1), x))) + x; }
static double left_product(double x)
{
    double a = larger(x - 1, 0), b = larger(-1 - x, 0);
    return x + (a * b > 0 ? 1 : 1 / (a * b) > 1 ? 2 : 3);
}
static double pole_of_left(double x) { return 1 / (larger(x - 1, 0) * fmax(-1 - x, 0)); }

/* What arithmetic made: all are x at x >= 0. */
static double in_branch(double x)
{
    double r = sqrt(x);
    if (x < 1)
        return r * r;
    return x;
}
static double after_branch(double x)
{
    double r = sqrt(x), s = x < 1 ? r : 1;
    return s * s;
}
static double after_maximum(double x)
{
    double s = fmax(sqrt(x), -1);
    return s * s;
}
static double in_maximum(double x) { return fmax(sqrt(x) * sqrt(x), -1); }
static double cubed_maximum(double x)
{
    double y = fmax(x, -1);
    return cbrt(y * y * y);
}
static double cubed_choice(double x)
{
    double y = x > -1 ? x : -1;
    return cbrt(y * y * y);
}
static double by_calls(double x)
{
    double s = fmax(root(x), -1);
    return s * s;
}
static double in_loop(double x, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += x * x;
    return sqrt(s / n);
}

static double power(double x, double y) { return pow(x, y); }
static double vanished(double x) { return sqrt(exp(-x)); }
static double size(double x) { return sqrt(x * x); }

struct two { double a, b; };
struct two __enzyme_autodiff_two(void *, ...);

static void expect_one_or_none(const char *what, int index, double got)
{
    if (!isnan(got))
        expect(what, index, got, 1);
}
#define TWO(f, first, second) \
    do { \
        struct two d = __enzyme_autodiff_two((void *)f, 0.0, 0.0); \
        expect(#f ", reverse", 0, d.a, first); \
        expect(#f ", reverse", 1, d.b, second); \
        expect(#f ", forward", 0, __enzyme_fwddiff((void *)f, 0.0, 1.0, 0.0, 0.0), first); \
        expect(#f ", forward", 1, __enzyme_fwddiff((void *)f, 0.0, 0.0, 0.0, 1.0), second); \
    } while (0)
#define ONE(f, x, slope) \
    do { \
        expect(#f ", reverse", 0, __enzyme_autodiff((void *)f, (double)x), slope); \
        expect(#f ", forward", 0, __enzyme_fwddiff((void *)f, (double)x, 1.0), slope); \
    } while (0)
#define MADE(f) \
    do { \
        expect_one_or_none(#f ", reverse", 0, __enzyme_autodiff((void *)f, 0.0)); \
        expect_one_or_none(#f ", forward", 0, __enzyme_fwddiff((void *)f, 0.0, 1.0)); \
        ONE(f, 0.25, 1); \
    } while (0)
#define STRONG(f, x) \
    do { \
        expect(#f ", strong, reverse", 0, __enzyme_autodiff((void *)f, enzyme_strong_zero, (double)x), 0); \
        expect(#f ", strong, forward", 0, __enzyme_fwddiff((void *)f, enzyme_strong_zero, (double)x, 1.0), 0); \
    } while (0)

#define CHAIN(f) \
    do { \
        double x[1] = {0}, dx[1] = {0}, y[3], dy[3] = {0, 1, 0}, none[1] = {0}, slope[3] = {0}; \
        __enzyme_autodiff_void((void *)f, enzyme_dup, x, dx, enzyme_dup, y, dy); \
        expect(#f ", reverse", 0, dx[0], 2); \
        double wide[2] = {0}, seeds[6] = {0, 1, 0, 0, 3, 0}; \
        __enzyme_autodiff_void((void *)f, enzyme_width, 2, enzyme_dup, x, wide, wide + 1, enzyme_dup, y, seeds, seeds + 3); \
        expect(#f ", reverse, first lane", 0, wide[0], 2); \
        expect(#f ", reverse, second lane", 0, wide[1], 6); \
        dy[0] = 1, dy[1] = 0, dx[0] = 0; \
        __enzyme_autodiff_void((void *)f, enzyme_dup, x, dx, enzyme_dup, y, dy); \
        expect(#f ", reverse, asked for", 0, isfinite(dx[0]), 0); \
        __enzyme_fwddiff_void((void *)f, enzyme_dup, x, none, enzyme_dup, y, slope); \
        expect(#f ", forward", 0, slope[0], 0); \
    } while (0)

int main(void)
{
    CHAIN(chain);
    CHAIN(chain_called);
    CHAIN(chain_of_call);
    CHAIN(chain_of_calls);
    CHAIN(chain_twice);
    CHAIN(chain_in_loop);
    CHAIN(chain_recursive);
    CHAIN(chain_through_pointer);
    CHAIN(chain_in_pointer);
    ONE(left_by_pointer, 0, 1);
    float x[2] = {0}, dx[2] = {0}, y[2], dy[2] = {0, 1}, none[2] = {0};
#ifdef __OPTIMIZE__ /* else clang keeps the parts in memory, through which given zeros are not followed */
    __enzyme_autodiff_void((void *)chain_of_complex, enzyme_dup, x, dx, enzyme_dup, y, dy);
    expect("chain_of_complex, reverse", 0, dx[0], 2);
    __enzyme_fwddiff_void((void *)chain_of_complex, enzyme_dup, x, none, enzyme_dup, y, dy);
    expect("chain_of_complex, forward", 0, dy[0], 0);
#endif
    ONE(left_chain, 0, 1);
    ONE(left_multiplied, 0, 1);
    ONE(left_multiplied, 1.5, 2 + 0.25 * pow(1.5, -0.75) * exp(pow(1.5, 0.25)));
    ONE(left_twice, 0, 1);
    ONE(left_twice, 4, 9);
    ONE(left_product, 0, 1);
    ONE(pole_of_left, 0, 0);
    CHECK_GRADIENT(walk, 6);
    TWO(floored, 1000, 0);
    TWO(chosen, 1000, 0);
    TWO(by_call, 1000.6, 0.8);
    struct two d = __enzyme_autodiff_two((void *)noted, 0.0, 0.0);
    expect("noted", 0, d.a, 1.6);
    expect("noted", 1, d.b, 0.8);
    ONE(left_roots, 0, 1);
    ONE(left_branch, 0, 3);
    MADE(in_branch);
    MADE(after_branch);
    MADE(after_maximum);
    MADE(in_maximum);
    MADE(cubed_maximum);
    MADE(cubed_choice);
    MADE(by_calls);
    expect_one_or_none("in_loop, reverse", 0, __enzyme_autodiff((void *)in_loop, 0.0, 3));
    expect_one_or_none("in_loop, forward", 0, __enzyme_fwddiff((void *)in_loop, 0.0, 1.0, 3));
    expect("no change in a loop", 0, __enzyme_fwddiff((void *)in_loop, 0.0, 0.0, 3), 0);
    expect("whole power", 0, __enzyme_fwddiff((void *)power, -2.0, 1.0, 3.0, 0.0), 12);
    STRONG(vanished, 2000);
    STRONG(size, 0);
    return failures();
}
