/* What the self-checking programs share: markers, finite differences, and a count of what failed.
 *
 * A program calls CHECK_… or `expect` and returns `failures()`; each failure is printed. Functions are checked at the
 * points that `sample` gives. Differences are of fourth order: good to about ten digits for smooth functions. */
#ifndef SELFCHECK_H
#define SELFCHECK_H
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif
extern int enzyme_const, enzyme_dup, enzyme_dupnoneed, enzyme_out, enzyme_width, enzyme_noret, enzyme_primal_return;
extern int enzyme_const_return, enzyme_active_return, enzyme_runtime_activity, enzyme_strong_zero, enzyme_nofree;
extern int enzyme_dupv, enzyme_dupnoneedv, enzyme_vector, enzyme_scalar, enzyme_tape, enzyme_allocated;
extern int enzyme_interleave, enzyme_not_overwritten, enzyme_byref;
double __enzyme_autodiff(void *, ...);
double __enzyme_fwddiff(void *, ...);
void __enzyme_autodiff_void(void *, ...);
void __enzyme_fwddiff_void(void *, ...);
#ifdef __cplusplus
}
#endif

static int failed_checks;

/* The program's exit status. */
static inline int failures(void) { return failed_checks != 0; }

static inline void expect_within(const char *what, int index, double got, double wanted, double tolerance)
{
    if (fabs(got - wanted) <= tolerance * (1 + fabs(wanted)))
        return;
    printf("%s [%d]: got %.12g, wanted %.12g\n", what, index, got, wanted);
    failed_checks++;
}

static inline void expect(const char *what, int index, double got, double wanted)
{
    expect_within(what, index, got, wanted, 1e-7);
}

/* Distinct positive numbers between 0.3 and 3. */
static inline void sample(double *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = 0.3517 + 0.2131 * (i % 11) + 0.0713 * ((3 * i) % 5);
}

static inline void clear(double *x, int n) { memset(x, 0, (size_t)n * sizeof *x); }

static inline double stencil(const double *v, double h)
{
    return (8 * (v[2] - v[1]) - (v[3] - v[0])) / (12 * h);
}

static const double stencil_steps[4] = {-2, -1, 1, 2};

/* f'(x) */
static inline double slope(double (*f)(double), double x)
{
    double v[4], h = 1e-3;
    for (int k = 0; k < 4; k++)
        v[k] = f(x + stencil_steps[k] * h);
    return stencil(v, h);
}

/* The derivative of f(x, n) by x[i], at sample points. */
static inline double slope_by(double (*f)(const double *, int), int n, int i)
{
    double v[4], h = 1e-3, *x = (double *)malloc((size_t)n * sizeof *x);
    for (int k = 0; k < 4; k++) {
        sample(x, n);
        x[i] += stencil_steps[k] * h;
        v[k] = f(x, n);
    }
    free(x);
    return stencil(v, h);
}

/* The derivative of y[j] of f(x, y) by x[i], at sample points, y cleared before. */
static inline double slope_of(void (*f)(const double *, double *), int n, int m, int j, int i)
{
    double v[4], h = 1e-3;
    double *x = (double *)malloc((size_t)n * sizeof *x), *y = (double *)malloc((size_t)m * sizeof *y);
    for (int k = 0; k < 4; k++) {
        sample(x, n);
        clear(y, m);
        x[i] += stencil_steps[k] * h;
        f(x, y);
        v[k] = y[j];
    }
    free(x);
    free(y);
    return stencil(v, h);
}

/* double f(double) at x: reverse and forward mode. */
#define CHECK_SLOPE(f, at)                                                                                            \
    do {                                                                                                              \
        double wanted_ = slope(f, at);                                                                                \
        expect(#f ", reverse", 0, __enzyme_autodiff((void *)f, enzyme_out, (double)(at)), wanted_);                    \
        expect(#f ", forward", 0, __enzyme_fwddiff((void *)f, enzyme_dup, (double)(at), 1.0), wanted_);                \
    } while (0)

/* double f(const double *x, int n), n numbers: reverse and forward mode. */
#define CHECK_GRADIENT(f, count)                                                                                      \
    do {                                                                                                              \
        enum { n_ = (count) };                                                                                        \
        double x_[n_], d_[n_], t_[n_];                                                                                \
        sample(x_, n_);                                                                                               \
        clear(d_, n_);                                                                                                \
        __enzyme_autodiff_void((void *)f, enzyme_dup, x_, d_, enzyme_const, n_);                                      \
        for (int i_ = 0; i_ < n_; i_++) {                                                                             \
            double wanted_ = slope_by(f, n_, i_);                                                                     \
            sample(x_, n_);                                                                                           \
            clear(t_, n_);                                                                                            \
            t_[i_] = 1;                                                                                               \
            double tangent_ = __enzyme_fwddiff((void *)f, enzyme_dup, x_, t_, enzyme_const, n_);                      \
            expect(#f ", reverse", i_, d_[i_], wanted_);                                                              \
            expect(#f ", forward", i_, tangent_, wanted_);                                                            \
        }                                                                                                             \
    } while (0)

/* void f(const double *x, double *y), n numbers to m: the Jacobian by reverse and by forward mode. */
#define CHECK_MAP(f, from, to)                                                                                        \
    do {                                                                                                              \
        enum { n_ = (from), m_ = (to) };                                                                              \
        double x_[n_], d_[n_], y_[m_], s_[m_], t_[n_][m_];                                                            \
        for (int i_ = 0; i_ < n_; i_++) {                                                                             \
            sample(x_, n_);                                                                                           \
            clear(d_, n_);                                                                                            \
            clear(y_, m_);                                                                                            \
            clear(t_[i_], m_);                                                                                        \
            d_[i_] = 1;                                                                                               \
            __enzyme_fwddiff_void((void *)f, enzyme_dup, x_, d_, enzyme_dup, y_, t_[i_]);                             \
        }                                                                                                             \
        for (int j_ = 0; j_ < m_; j_++) {                                                                             \
            sample(x_, n_);                                                                                           \
            clear(d_, n_);                                                                                            \
            clear(y_, m_);                                                                                            \
            clear(s_, m_);                                                                                            \
            s_[j_] = 1;                                                                                               \
            __enzyme_autodiff_void((void *)f, enzyme_dup, x_, d_, enzyme_dup, y_, s_);                                \
            for (int i_ = 0; i_ < n_; i_++) {                                                                         \
                double wanted_ = slope_of(f, n_, m_, j_, i_);                                                         \
                expect(#f ", reverse", j_ * n_ + i_, d_[i_], wanted_);                                                \
                expect(#f ", forward", j_ * n_ + i_, t_[i_][j_], wanted_);                                            \
            }                                                                                                         \
        }                                                                                                             \
    } while (0)

/* double f(const double *x, int n): reverse and forward mode, each alone and of width 3, and the sweeps apart, with x
 * overwritten between them. */
struct kept_of_check { void *tape; double value; };
struct three_of_check { double at[3]; };
#ifdef __cplusplus
extern "C" {
#endif
struct kept_of_check __enzyme_augmentfwd_check(void *, ...);
void __enzyme_reverse_check(void *, ...);
struct three_of_check __enzyme_fwddiff_check(void *, ...);
#ifdef __cplusplus
}
#endif
#define CHECK_EVERY_WAY(f, count)                                                                                     \
    do {                                                                                                              \
        enum { m_ = (count) };                                                                                        \
        double y_[m_], a_[3][m_], s_[m_];                                                                             \
        CHECK_GRADIENT(f, m_);                                                                                        \
        sample(y_, m_);                                                                                               \
        clear(a_[0], 3 * m_);                                                                                         \
        __enzyme_autodiff_void((void *)f, enzyme_width, 3, enzyme_dup, y_, a_[0], a_[1], a_[2], enzyme_const, m_);    \
        clear(s_, m_);                                                                                                \
        struct kept_of_check kept_ = __enzyme_augmentfwd_check((void *)f, enzyme_dup, y_, s_, enzyme_const, m_);      \
        clear(y_, m_);                                                                                                \
        __enzyme_reverse_check((void *)f, enzyme_dup, y_, s_, enzyme_const, m_, 2.0, kept_.tape);                     \
        for (int i_ = 0; i_ < m_; i_++) {                                                                             \
            double wanted_ = slope_by(f, m_, i_), t_[3][m_];                                                          \
            sample(y_, m_);                                                                                           \
            clear(t_[0], 3 * m_);                                                                                     \
            t_[0][i_] = 1;                                                                                            \
            t_[2][i_] = -2;                                                                                           \
            struct three_of_check tangent_ = __enzyme_fwddiff_check(                                                  \
                (void *)f, enzyme_width, 3, enzyme_dup, y_, t_[0], t_[1], t_[2], enzyme_const, m_);                   \
            for (int k_ = 0; k_ < 3; k_++) {                                                                          \
                expect_within(#f ", reverse of width 3", i_, a_[k_][i_], wanted_, 1e-6);                              \
                expect_within(#f ", forward of width 3", i_, tangent_.at[k_], t_[k_][i_] * wanted_, 1e-6);            \
            }                                                                                                         \
            expect_within(#f ", sweeps apart", i_, s_[i_], 2 * wanted_, 1e-6);                                        \
        }                                                                                                             \
    } while (0)

#endif
