/* What is said of templates, inline functions and members: they lie in comdats, which keep the old name of a function
 * that llgrad renames. */
#include "selfcheck.h"
#include <cmath>
#include <cstdlib>

struct Three { double a, b, c; };

template <class T> T seven(T x) { return 7 + 0 * x; }
template <class T> void *seven_augmented(T) { return nullptr; }
template <class T> T seven_reverse(T x, T seed, void *) { return 100 * x * seed; }
template <class T> T seven_tangent(T x, T dx) { return 100 * x * dx; }
void *__enzyme_register_gradient_seven[] = {
    (void *)seven<double>, (void *)seven_augmented<double>, (void *)seven_reverse<double>};
void *__enzyme_register_derivative_seven[] = {(void *)seven<double>, (void *)seven_tangent<double>};

struct Formulas {
    static double doubled(double x) { return 2 * x; }
    template <class T> static T tripled(T x) { return 3 * x; }
    __attribute__((annotate("enzyme_function_like=log1p"))) static double itself(double x) { return x; }
};
void *__enzyme_function_like_doubled[] = {(void *)Formulas::doubled, (void *)"sin"};
void *__enzyme_function_like_tripled[] = {(void *)Formulas::tripled<double>, (void *)"log"};
template <class T> __attribute__((annotate("enzyme_inactive"))) T constant(T x) { return x * x; }
extern "C" inline double y1(double x) { return x * x * x; } /* of the program's own, not libm's */

template <class T> T sum(Three s) { return s.a + s.b + s.c; }
template <class T> void *sum_augmented(Three, Three *) { return nullptr; }
template <class T> void sum_reverse(Three, Three *d, T seed, void *) { d->a += 2 * seed; }
void *__enzyme_register_gradient_sum[] = {(void *)sum<double>, (void *)sum_augmented<double>, (void *)sum_reverse<double>};

inline void *take(long bytes) { return std::malloc(bytes); }
inline void give(void *p) { std::free(p); }
void *__enzyme_allocation_like[] = {(void *)take, (void *)0, (void *)"-1", (void *)give};

static double with_rule(double x) { return seven(x) * x; }
static double like_others(double x) { return Formulas::doubled(x) + Formulas::tripled(x) + Formulas::itself(x); }
static double with_constant(double x) { return constant(x) * x; }
static double of_own(double x) { return y1(x); }
static double of_struct(double x) { return sum<double>(Three{x, x * x, 1}); }
static double on_heap(double x)
{
    double *p = (double *)take(2 * sizeof(double));
    p[0] = x * x;
    p[1] = p[0] * x;
    double r = p[1];
    give(p);
    return r;
}
static double through_pointers(double x)
{
    double (*f)(double) = Formulas::doubled, (*volatile g)(double) = Formulas::tripled<double>;
    return f(x) + g(x);
}

static void check(double (*reverse)(double), double (*forward)(double), double wanted)
{
    static int number;
    expect("reverse", number, reverse(0.5), wanted);
    if (forward)
        expect("forward", number, forward(0.5), wanted);
    number++;
}
#define REVERSE(f) [](double x) { return __enzyme_autodiff((void *)f, x); }
#define FORWARD(f) [](double x) { return __enzyme_fwddiff((void *)f, x, 1.0); }
#define BOTH(f) REVERSE(f), FORWARD(f)

int main()
{
    double x = 0.5;
    check(BOTH(with_rule), 7 + 100 * x * x);
    check(BOTH(like_others), std::cos(x) + 1 / x + 1 / (1 + x));
    check(BOTH(with_constant), x * x);
    check(BOTH(of_own), 3 * x * x);
    check(REVERSE(of_struct), nullptr, 2);
    check(BOTH(on_heap), 3 * x * x);
    check(BOTH(through_pointers), std::cos(x) + 1 / x);
    return failures();
}
