/* Derivatives that are asked for in code which runs in other derivatives: in rules, in inactive functions, behind
   pointers, in allocators, before `main`. */
#include "selfcheck.h"
static double residual(double x, double a) { return x * x - a; }
__attribute__((noinline)) static double slope_of_residual(double x, double a)
{
    return __enzyme_fwddiff((void *)residual, enzyme_dup, x, 1.0, enzyme_const, a);
}

/* A root by Newton's method, with the rule of implicit functions in each mode. */
__attribute__((noinline)) static double root(double a)
{
    double x = a;
    for (int i = 0; i < 40; i++)
        x -= residual(x, a) / (2 * x);
    return x;
}
typedef struct { double *tape; double value; } kept;
static kept root_forward(double a)
{
    kept k = {(double *)malloc(2 * sizeof(double)), root(a)};
    k.tape[0] = k.value;
    k.tape[1] = slope_of_residual(k.value, a);
    return k;
}
static double root_reverse(double a, double seed, double *tape)
{
    double x = tape[0], of_x = tape[1];
    free(tape);
    return -seed * __enzyme_autodiff((void *)residual, enzyme_const, x, enzyme_out, a) / of_x;
}
typedef struct { double value, tangent; } both;
static both root_tangent(double a, double t)
{
    double x = root(a), of_a = __enzyme_fwddiff((void *)residual, enzyme_const, x, enzyme_dup, a, t);
    both b = {x, -of_a / slope_of_residual(x, a)};
    return b;
}
void *__enzyme_register_gradient_root[] = {(void *)root, (void *)root_forward, (void *)root_reverse};
void *__enzyme_register_derivative_root[] = {(void *)root, (void *)root_tangent};

/* A rule that asks for a derivative of a function whose rule asks again. */
static double of_roots(double y, double a) { return y * y - root(a); }
__attribute__((noinline)) static double fourth_root(double a) { return sqrt(root(a)); }
static double fourth_forward(double a) { return fourth_root(a); }
static double fourth_reverse(double a, double seed)
{
    double y = fourth_root(a), of_a = __enzyme_autodiff((void *)of_roots, enzyme_const, y, enzyme_out, a);
    return -seed * of_a / __enzyme_fwddiff((void *)of_roots, enzyme_dup, y, 1.0, enzyme_const, a);
}
static double fourth_tangent(double a, double t)
{
    double y = fourth_root(a), of_a = __enzyme_fwddiff((void *)of_roots, enzyme_const, y, enzyme_dup, a, t);
    return -of_a / __enzyme_autodiff((void *)of_roots, enzyme_out, y, enzyme_const, a);
}
void *__enzyme_register_gradient_fourth[] = {(void *)fourth_root, (void *)fourth_forward, (void *)fourth_reverse};
void *__enzyme_register_derivative_fourth[] = {(void *)fourth_root, (void *)fourth_tangent};

/* Inactive functions: a solver that asks for slopes, with one step of Newton's method after it. */
__attribute__((noinline, annotate("enzyme_inactive"))) static double guess(double a)
{
    double x = 1;
    for (int i = 0; i < 60; i++)
        x -= residual(x, a) / slope_of_residual(x, a);
    return x;
}
__attribute__((noinline)) static double guess_told(double a)
{
    return guess(a) * __enzyme_fwddiff((void *)residual, enzyme_const, 1.0, enzyme_dup, a, -1.0);
}
void *__enzyme_inactivefn[] = {(void *)guess_told};
static double polished(double a)
{
    double x = guess(a);
    return x - residual(x, a) / slope_of_residual(x, a);
}
static double polished_again(double a)
{
    double x = guess_told(a);
    return (x - residual(x, a) / (2 * x)) * a;
}

/* Behind pointers, and in tables. */
static double cube(double x) { return x * x * x; }
static double slope_of_cube(double x) { return __enzyme_autodiff((void *)cube, x); }
static double tangent_of_cube(double x) { return __enzyme_fwddiff((void *)cube, x, 1.0); }
static double (*table[2])(double) = {slope_of_cube, tangent_of_cube};
static double (*chosen)(double);
static double by_table(double x) { return table[x > 100](x) * x; }
static double by_pointer(double x) { return chosen(x) * x; }

/* Allocators, and what frees their memory. */
static double used;
__attribute__((noinline)) static void *take(size_t n)
{
    used += __enzyme_autodiff((void *)cube, 1.0);
    return malloc(n);
}
__attribute__((noinline)) static void put(void *p)
{
    used -= __enzyme_fwddiff((void *)cube, 1.0, 1.0);
    free(p);
}
void *__enzyme_allocation_like[] = {(void *)take, (void *)0, (void *)"-1", (void *)put};
static double in_own_memory(double x)
{
    double *p = (double *)take(2 * sizeof(double));
    p[x > 100] = x * x;
    double y = p[0] * x;
    put(p);
    return y;
}

static double before_main;
__attribute__((constructor)) static void begin(void) { before_main = slope_of_cube(2); }

static double rooted(double a) { return root(a) * a; }
static double rooted_reverse(double a) { return __enzyme_autodiff((void *)rooted, a); }
static double rooted_forward(double a) { return __enzyme_fwddiff((void *)rooted, a, 1.0); }
typedef struct { double a, b; } two;
two __enzyme_batch(void *, ...), __enzyme_autodiff_two(void *, ...);
extern int enzyme_width, enzyme_vector;
static double of_many(double a, double b)
{
    two r = __enzyme_batch((void *)rooted_forward, enzyme_width, 2, enzyme_vector, a, b);
    return r.a + r.b;
}

#define CHECK_BOTH(f, at, wanted)                                                                                     \
    do {                                                                                                              \
        expect(#f ", reverse", 0, __enzyme_autodiff((void *)f, at), wanted);                                           \
        expect(#f ", forward", 0, __enzyme_fwddiff((void *)f, at, 1.0), wanted);                                       \
    } while (0)
int main(void)
{
    double a = 2 + (before_main > 1e6);
    chosen = a > 0 ? slope_of_cube : 0;
    expect("before main", 0, before_main, 12);
    CHECK_BOTH(root, a, 0.5 / sqrt(a));
    CHECK_BOTH(rooted, a, 1.5 * sqrt(a));
    CHECK_BOTH(fourth_root, a, 0.25 * pow(a, -0.75));
    CHECK_BOTH(polished, a, 0.5 / sqrt(a));
    CHECK_BOTH(polished_again, a, 1.5 * sqrt(a));
    CHECK_BOTH(by_table, a, 9 * a * a);
    CHECK_BOTH(by_pointer, a, 9 * a * a);
    CHECK_BOTH(in_own_memory, a, 3 * a * a);
    expect("as many are freed as taken", 0, used, 0);
    expect("many", 0, of_many(a, 3), 1.5 * (sqrt(a) + sqrt(3)));
    expect("first", 0, rooted_reverse(a), 1.5 * sqrt(a));
    CHECK_BOTH(rooted_reverse, a, 0.75 / sqrt(a));
    CHECK_BOTH(rooted_forward, a, 0.75 / sqrt(a));
    two g = __enzyme_autodiff_two((void *)of_many, a, 3.0);
    expect("second, many", 0, g.a, 0.75 / sqrt(a));
    expect("second, many", 1, g.b, 0.75 / sqrt(3));
    return failures();
}
