/* Tasks run where they are made. */
#include "selfcheck.h"
#include <omp.h>

static double two_tasks(const double *x, int n)
{
    double a = 0, b = 0, c = 0, by = x[n - 1] * x[0];
#pragma omp parallel
#pragma omp single
    {
#pragma omp task shared(a) firstprivate(n)
        a = x[0] * n;
#pragma omp task shared(b) firstprivate(by)
        b = by * x[1];
#pragma omp taskwait
#pragma omp task shared(a, b, c)
        c = a * b;
    }
    return c * c;
}

static double depending(const double *x, int n)
{
    double a = 0, b = 0;
    (void)n;
#pragma omp parallel
#pragma omp single
#pragma omp taskgroup
    {
#pragma omp task depend(out : a) shared(a)
        a = sin(x[0]);
#pragma omp task depend(in : a) depend(out : b) shared(a, b)
        b = a * x[1];
#pragma omp task depend(inout : b) shared(b) if (x[0] > 100)
        b *= x[2];
    }
    return b;
}

static double of_tree(const double *x, int n)
{
    if (n == 1)
        return x[0] * x[0];
    double left = 0, right = 0;
#pragma omp task shared(left) if (n > 2)
    left = of_tree(x, n / 2);
#pragma omp task shared(right)
    right = of_tree(x + n / 2, n - n / 2);
#pragma omp taskwait
    return left + right + left * right;
}

static double tree(const double *x, int n)
{
    double s = 0;
#pragma omp parallel
#pragma omp single
    s = of_tree(x, n);
    return s;
}

static double in_a_loop(const double *x, int n)
{
    double *y = (double *)malloc((size_t)n * sizeof *y), s = 0;
#pragma omp parallel
#pragma omp single nowait
    for (int i = 0; i < n; i++)
#pragma omp task firstprivate(i)
        y[i] = exp(-x[i]) * x[(i + 1) % n];
    for (int i = 0; i < n; i++)
        s += y[i] * y[i];
    free(y);
    return s;
}

static double taskloop(const double *x, int n)
{
    double y[16], s = 0, last = 0, by = x[1];
#pragma omp parallel
#pragma omp single
#pragma omp taskloop grainsize(2) lastprivate(last) firstprivate(by)
    for (int i = 0; i < n; i++) {
        y[i] = x[i] * x[i] * by;
        last = y[i] * 2;
    }
    for (int i = 0; i < n; i++)
        s += y[i] * last;
    return s;
}

int main(void)
{
    CHECK_GRADIENT(two_tasks, 4);
    CHECK_GRADIENT(depending, 4);
    CHECK_GRADIENT(tree, 6);
    CHECK_GRADIENT(in_a_loop, 5);
    CHECK_GRADIENT(taskloop, 5);
    return failures();
}
