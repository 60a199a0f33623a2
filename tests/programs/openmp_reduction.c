/* Parallel loops with reductions, in what is differentiated: the derivative takes them as one thread does. */
#include "selfcheck.h"
#include <omp.h>

static double sum(const double *x, int n)
{
    double s = 0;
#pragma omp parallel for reduction(+ : s)
    for (int i = 0; i < n; i++)
        s += sin(x[i]) * x[(i + 1) % n];
    return s * s;
}

static double product(const double *x, int n)
{
    double p = 1, s = 2;
#pragma omp parallel for reduction(* : p) reduction(- : s) schedule(static, 2)
    for (int i = 0; i < n; i++) {
        p *= x[i];
        s -= x[i] * x[i];
    }
    return p * s;
}

static double largest(const double *x, int n)
{
    double m = -1e300, l = 1e300;
#pragma omp parallel for reduction(max : m) reduction(min : l)
    for (int i = 0; i < n; i++) {
        double v = x[i] * x[i] - 3 * x[i];
        m = v > m ? v : m;
        l = v < l ? v : l;
    }
    return m * l;
}

static double sections_of_array(const double *x, int n)
{
    double parts[3] = {1, 2, 3};
#pragma omp parallel for reduction(+ : parts)
    for (int i = 0; i < n; i++)
        parts[i % 3] += x[i] * x[i];
    return parts[0] * parts[1] + parts[2];
}

static double captured(const double *x, int n)
{
    double first = x[0] * x[0], scale = 3 * x[1], s = 0;
#pragma omp parallel for firstprivate(first, scale) reduction(+ : s)
    for (int i = 0; i < n; i++)
        s += first * exp(-scale * x[i]);
    return s;
}

static double several(const double *x, int n)
{
    double s = 0, t = 0, *y = (double *)malloc((size_t)n * sizeof *y);
#pragma omp parallel
    {
#pragma omp for
        for (int i = 0; i < n; i++)
            y[i] = x[i] * x[i];
#pragma omp for reduction(+ : s) nowait
        for (int i = 0; i < n; i++)
            s += y[i] * y[n - 1 - i];
#pragma omp for reduction(+ : t)
        for (int i = 0; i < n; i++)
            t += cos(y[i]);
    }
    free(y);
    return s * t;
}

typedef struct { double re, im; } pair;
#pragma omp declare reduction(add : pair : omp_out.re += omp_in.re, omp_out.im += omp_in.im) \
    initializer(omp_priv = (pair){0, 0})

static double declared(const double *x, int n)
{
    pair p = {1, 2};
#pragma omp parallel for reduction(add : p)
    for (int i = 0; i < n; i++) {
        p.re += x[i] * x[i];
        p.im += sin(x[i]);
    }
    return p.re * p.im;
}

/* Each thread sums up into a place of its own. */
static double by_hand(const double *x, int n)
{
    int threads = omp_get_max_threads();
    double s = 0, *part = (double *)malloc((size_t)threads * sizeof *part);
    for (int t = 0; t < threads; t++)
        part[t] = 0;
#pragma omp parallel
    {
        int t = omp_get_thread_num(), of = omp_get_num_threads();
        for (int i = t * n / of; i < (t + 1) * n / of; i++)
            part[t] += x[i] * x[i] * x[i];
    }
    for (int t = 0; t < threads; t++)
        s += part[t];
    free(part);
    return s;
}

int main(void)
{
    CHECK_GRADIENT(sum, 7);
    CHECK_GRADIENT(product, 5);
    CHECK_GRADIENT(largest, 6);
    CHECK_GRADIENT(sections_of_array, 7);
    CHECK_GRADIENT(captured, 5);
    CHECK_GRADIENT(several, 6);
    CHECK_GRADIENT(declared, 6);
    CHECK_GRADIENT(by_hand, 9);
    return failures();
}
