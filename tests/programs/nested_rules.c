/* Derivatives of derivatives through rules whose code calls the function itself, or the program's own allocator. */
#include "selfcheck.h"
static char pool[4096];
static int top, live;
__attribute__((noinline)) void *take(size_t n)
{
    void *p = pool + top;
    top += (int)((n + 15) & ~15ul);
    live++;
    return p;
}
__attribute__((noinline)) void put(void *p)
{
    (void)p;
    if (!--live)
        top = 0;
}
void *__enzyme_allocation_like[] = {(void *)take, (void *)0, (void *)"-1", (void *)put};

/* The rules say twice what the function's body says: second derivatives have a factor of four. */
__attribute__((noinline)) static double grow(double x) { return exp(x); }
struct augmented { double *tape; double value; };
static struct augmented augment(double x)
{
    double *t = (double *)take(sizeof *t);
    *t = grow(x);
    struct augmented a = {t, *t};
    return a;
}
static double reverse(double x, double seed, double *tape)
{
    double kept = *tape;
    put(tape);
    return seed * (kept + grow(x));
}
void *__enzyme_register_gradient_grow[] = {(void *)grow, (void *)augment, (void *)reverse};
static double tangent(double x, double t) { return 2 * grow(x) * t; }
void *__enzyme_register_derivative_grow[] = {(void *)grow, (void *)tangent};

/* x^n, whose rule calls it with n - 1 */
__attribute__((noinline)) double power(double x, int n) { return n ? x * power(x, n - 1) : 1; }
struct both { double value, tangent; };
struct both power_tangent(double x, double t, int n)
{
    struct both b = {power(x, n), n ? n * power(x, n - 1) * t : 0};
    return b;
}
double power_reverse(double x, int n, double seed) { return n ? seed * n * power(x, n - 1) : 0; }
double power_augment(double x, int n) { return power(x, n); }
void *__enzyme_register_gradient_power[] = {(void *)power, (void *)power_augment, (void *)power_reverse};
void *__enzyme_register_derivative_power[] = {(void *)power, (void *)power_tangent};

/* of memory, through a pointer to the function */
__attribute__((noinline)) static double squares(const double *x, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += x[i] * x[i];
    return s;
}
static struct augmented squares_augment(const double *x, double *dx, int n)
{
    double *t = (double *)take((size_t)n * sizeof *t);
    (void)dx;
    memcpy(t, x, (size_t)n * sizeof *t);
    struct augmented a = {t, squares(x, n)};
    return a;
}
static void squares_reverse(const double *x, double *dx, int n, double seed, double *tape)
{
    double whole = squares(tape, n); /* a factor that is one, as far as anybody knows */
    for (int i = 0; i < n; i++)
        dx[i] += 2 * tape[i] * seed * whole / squares(x, n);
    put(tape);
}
static double squares_tangent(const double *x, const double *dx, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += 2 * x[i] * dx[i];
    return s * squares(x, n) / squares(x, n);
}
void *__enzyme_register_gradient_squares[] = {(void *)squares, (void *)squares_augment, (void *)squares_reverse};
void *__enzyme_register_derivative_squares[] = {(void *)squares, (void *)squares_tangent};
static double (*chosen)(const double *, int) = squares;

static double f(double x) { return grow(3 * x) + x; }
static double f_reverse(double x) { return __enzyme_autodiff((void *)f, x); }
static double f_forward(double x) { return __enzyme_fwddiff((void *)f, x, 1.0); }
static double g(double x) { return power(x, 5); }
static double g_reverse(double x) { return __enzyme_autodiff((void *)g, x); }
static double g_forward(double x) { return __enzyme_fwddiff((void *)g, x, 1.0); }
static double h(double x)
{
    double y[3] = {x, 2 * x, x * x};
    return log(squares(y, 3));
}
static double h_chosen(double x)
{
    double y[3] = {x, 2 * x, x * x};
    return log(chosen(y, 3));
}
static double h_reverse(double x) { return __enzyme_autodiff((void *)h, x); }
static double h_forward(double x) { return __enzyme_fwddiff((void *)h, x, 1.0); }
static double h_chosen_reverse(double x) { return __enzyme_autodiff((void *)h_chosen, x); }
static double h_chosen_forward(double x) { return __enzyme_fwddiff((void *)h_chosen, x, 1.0); }

#define CHECK_AGAIN(d, at, wanted)                                                                                    \
    do {                                                                                                              \
        expect(#d ", reverse", 0, __enzyme_autodiff((void *)d, at), wanted);                                           \
        expect(#d ", forward", 0, __enzyme_fwddiff((void *)d, at, 1.0), wanted);                                       \
    } while (0)
int main(void)
{
    double x = 0.7;
    chosen = x > 0 ? squares : 0;
    expect("once", 0, f_reverse(x), 6 * exp(3 * x) + 1);
    expect("once", 1, f_forward(x), 6 * exp(3 * x) + 1);
    CHECK_AGAIN(f_reverse, x, 36 * exp(3 * x));
    CHECK_AGAIN(f_forward, x, 36 * exp(3 * x));
    CHECK_AGAIN(g_reverse, x, 20 * x * x * x);
    CHECK_AGAIN(g_forward, x, 20 * x * x * x);
    CHECK_AGAIN(h_reverse, x, slope(h_reverse, x));
    CHECK_AGAIN(h_forward, x, slope(h_forward, x));
    CHECK_AGAIN(h_chosen_reverse, x, slope(h_reverse, x));
    CHECK_AGAIN(h_chosen_forward, x, slope(h_forward, x));
    expect("all is put back", 0, live, 0);
    return failures();
}
