/* Pointers that overlap in every way: equal, partly, shifted by one, one before the other, not at all. The derivative of
   what the memory holds in the end by what it held before, beside finite differences. */
#include "selfcheck.h"

enum { CELLS = 40 };

/* The norm is computed anew for each element: it changes where y overlaps x. */
static void normalise(int n, double *x, double *y, double *out)
{
    for (int i = 0; i < n; i++) {
        double square = 0;
        for (int j = 0; j < n; j++)
            square += x[j] * x[j];
        y[i] = x[i] / sqrt(square);
    }
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += y[i] * y[i] * (i + 1);
    *out += sum;
}

/* Triangular, and backwards; x is read again after y was written. */
static void solve(int n, double *x, double *y, double *out)
{
    for (int i = n - 1; i >= 0; i--) {
        double sum = x[i];
        for (int j = i + 1; j < n; j++)
            sum -= 0.1 * y[j] * x[(n - i) / 2];
        y[i] = sum / (2 + x[i]);
    }
    for (double *p = y; p < y + n; p++)
        *out += *p * *p;
}

static __attribute__((noinline)) double total(int n, const double *x)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += 0.1 * sin(x[i]);
    return sum;
}

static void scattered(int n, double *x, double *y, double *out)
{
    for (int i = 0; i + 1 < n; i++) {
        y[i ? i - 1 : n - 1] = 0.5 * x[i] * total(n, x);
        y[i + 1] = 0.5 * y[i + 1] + 0.1 * cos(x[i]) * x[i + 1];
    }
    *out = 0.3 * *out + total(n, y);
}

typedef void function(int, double *, double *, double *);

/* Where x, y and out lie, and as far apart their shadows. */
static const int places[][3] = {
    {0, 12, 30}, {0, 0, 30}, {5, 0, 30}, {0, 5, 30}, {0, 1, 30}, {1, 0, 30},
    {0, 8, 16}, {8, 0, 16}, {0, 9, 8}, {0, 9, 3}, {12, 0, 5}, {3, 3, 3},
};

static double weighed(function *f, int n, const int *at, const double *before)
{
    double cells[CELLS], sum = 0;
    memcpy(cells, before, sizeof cells);
    f(n, cells + at[0], cells + at[1], cells + at[2]);
    for (int i = 0; i < CELLS; i++)
        sum += (0.1 + 0.03 * i) * cells[i];
    return sum;
}

#define REVERSE(f, n, c, d, at) __enzyme_autodiff_void((void *)f, enzyme_const, n, enzyme_dup, c + at[0], d + at[0], \
                                                       enzyme_dup, c + at[1], d + at[1], enzyme_dup, c + at[2], d + at[2])
#define FORWARD(f, n, c, d, at) __enzyme_fwddiff_void((void *)f, enzyme_const, n, enzyme_dup, c + at[0], d + at[0], \
                                                      enzyme_dup, c + at[1], d + at[1], enzyme_dup, c + at[2], d + at[2])
#define CHECK(f, n)                                                                     \
    for (unsigned k = 0; k < sizeof places / sizeof places[0]; k++) {                   \
        const int *at = places[k];                                                      \
        double before[CELLS], cells[CELLS], d[CELLS], t[CELLS], along = 0, by = 0;      \
        sample(before, CELLS);                                                          \
        memcpy(cells, before, sizeof cells);                                            \
        for (int i = 0; i < CELLS; i++) d[i] = 0.1 + 0.03 * i;                          \
        REVERSE(f, n, cells, d, at);                                                    \
        for (int i = 0; i < CELLS; i++) {                                               \
            double v[4];                                                                \
            for (int s = 0; s < 4; s++) {                                               \
                before[i] += 1e-3 * stencil_steps[s];                                   \
                v[s] = weighed(f, n, at, before);                                       \
                before[i] -= 1e-3 * stencil_steps[s];                                   \
            }                                                                           \
            expect(#f, (int)(1000 * k) + i, d[i], stencil(v, 1e-3));                    \
        }                                                                               \
        memcpy(cells, before, sizeof cells);                                            \
        for (int i = 0; i < CELLS; i++) t[i] = cos(i), along += d[i] * t[i];            \
        FORWARD(f, n, cells, t, at);                                                    \
        for (int i = 0; i < CELLS; i++) by += (0.1 + 0.03 * i) * t[i];                  \
        expect(#f " forward", (int)k, by, along);                                       \
    }

/* Both are only read: their shadows are what may overlap. */
static void product(int n, double *x, double *y, double *out)
{
    for (int i = 0; i < n; i++)
        *out += x[i] * x[i] * y[i];
}

static void one_shadow_for_two(void)
{
    double x[9], y[9], d[10], out, seed;
    sample(x, 9);
    for (int i = 0; i < 9; i++) y[i] = 2 - x[i];
    for (int shift = 0; shift < 2; shift++) {
        clear(d, 10);
        out = 0, seed = 1;
        __enzyme_autodiff_void((void *)product, enzyme_const, 9, enzyme_dup, x, d, enzyme_dup, y, d + shift, enzyme_dup,
                               &out, &seed);
        for (int i = 0; i < 9 + shift; i++)
            expect("one shadow for two", i, d[i],
                   (i < 9 ? 2 * x[i] * y[i] : 0) + (i >= shift ? x[i - shift] * x[i - shift] : 0));
    }
}

int main(void)
{
    CHECK(normalise, 8)
    CHECK(solve, 8)
    CHECK(scattered, 8)
    CHECK(normalise, 1)
    CHECK(solve, 0)
    CHECK(solve, -3)
    one_shadow_for_two();
    return failures();
}
