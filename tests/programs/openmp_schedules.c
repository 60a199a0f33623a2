/* Ways to share the work of loops, sections, single, master, critical, ordered, lastprivate, collapse. */
#include "selfcheck.h"
#include <omp.h>

static double in_chunks(const double *x, int n)
{
    double s = 0, last = 0;
#pragma omp parallel for schedule(static, 2) reduction(+ : s) lastprivate(last)
    for (int i = 0; i < n; i++) {
        last = x[i] * x[i] * x[i];
        s += last * x[0];
    }
    return s * last;
}

static double dynamic(const double *x, int n)
{
    double y[8];
#pragma omp parallel for schedule(dynamic) collapse(2)
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            y[4 * i + j] = x[(i + j) % n] * (i + 1);
    double s = 0;
#pragma omp parallel for schedule(guided) reduction(+ : s)
    for (long i = 7; i >= 0; i -= 2)
        s += y[i] * y[i];
    return s;
}

static double ordered(const double *x, int n)
{
    double s = 1;
#pragma omp parallel for ordered schedule(static, 1)
    for (int i = 0; i < n; i++) {
        double v = sin(x[i]);
#pragma omp ordered
        s = s * v + x[i];
    }
    return s;
}

static double parts(const double *x, int n)
{
    double a = x[0], b = x[1], c = 0, d = 0;
#pragma omp parallel sections firstprivate(a)
    {
#pragma omp section
        c = a * b;
#pragma omp section
        d = a * a + x[n - 1];
    }
    return c * d;
}

static double one_of_them(const double *x, int n)
{
    double s = 0, t = 0, u = 0;
#pragma omp parallel
    {
        double given;
#pragma omp single copyprivate(given)
        given = x[0] * x[1];
#pragma omp master
        t = given * given;
#pragma omp masked
        u = x[2];
#pragma omp barrier
#pragma omp critical(adding)
        s += given * t / omp_get_num_threads();
    }
#pragma omp parallel num_threads(3) if (n > 2)
    {
#pragma omp critical
        s += (x[0] + x[1] * u) / omp_get_num_threads();
    }
    return s;
}

/* A routine that is called in a region and outside of it as well. */
static double shared_work(const double *x, int n)
{
    double s = 0;
#pragma omp parallel for reduction(+ : s)
    for (int i = 0; i < n; i++)
        s += x[i] * x[i];
    return s;
}

static __attribute__((noinline)) void scale(double *y, const double *x, int n)
{
#pragma omp for schedule(dynamic)
    for (int i = 0; i < n; i++)
        y[i] *= x[i];
}

static double orphaned(const double *x, int n)
{
    double y[16];
    for (int i = 0; i < n; i++)
        y[i] = x[i];
    scale(y, x, n);
#pragma omp parallel
    scale(y, x, n);
    double s = shared_work(x, n);
#pragma omp parallel for reduction(+ : s)
    for (int i = 0; i < n; i++)
        s += y[i] + shared_work(x, i);
    return s;
}

static double locked(const double *x, int n)
{
    omp_lock_t lock;
    double s = 0;
    omp_init_lock(&lock);
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        double v = x[i] * x[i];
        omp_set_lock(&lock);
        s += v * x[0];
        omp_unset_lock(&lock);
    }
    omp_destroy_lock(&lock);
    return s;
}

/* What each iteration adds up is protected: they do not go side by side. */
static double protected(const double *x, int n)
{
    double s = 0, t[2] = {1, 0};
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < n; i++) {
        double v = x[i] * x[i];
#pragma omp critical
        {
            s += v * x[0];
            t[1] += v;
            t[0] *= x[i];
        }
    }
    return s * t[0] * t[1];
}

static double simd(const double *x, int n)
{
    double s = 0, y[16];
#pragma omp parallel for simd reduction(+ : s)
    for (int i = 0; i < n; i++) {
        y[i] = x[i] * x[i];
        s += y[i] * x[0];
    }
#pragma omp simd reduction(+ : s)
    for (int i = 0; i < n; i++)
        s += sqrt(y[i]);
    return s;
}

static double scanned(const double *x, int n)
{
    double sum = 0, y[16], s = 0;
#pragma omp parallel for reduction(inscan, + : sum)
    for (int i = 0; i < n; i++) {
        sum += x[i];
#pragma omp scan inclusive(sum)
        y[i] = sum;
    }
    for (int i = 0; i < n; i++)
        s += y[i] * y[i];
    return s;
}

static double after_another(const double *x, int n)
{
    double y[16];
    y[0] = x[0];
#pragma omp parallel for ordered(1)
    for (int i = 1; i < n; i++) {
        double v = x[i] * x[i];
#pragma omp ordered depend(sink : i - 1)
        y[i] = y[i - 1] * v;
#pragma omp ordered depend(source)
    }
    return y[n - 1];
}

static double nothing_to_do(const double *x, int n)
{
    double s = x[0], last = x[1];
#pragma omp parallel for schedule(dynamic) lastprivate(last) reduction(+ : s)
    for (int i = n; i < n; i++) {
        last = x[i];
        s += last;
    }
    return s * x[2] + n;
}

static double of_teams(const double *x, int n)
{
    double s = 0;
#pragma omp target teams distribute parallel for reduction(+ : s) map(to : x[0 : n]) map(tofrom : s)
    for (int i = 0; i < n; i++)
        s += x[i] * x[i];
    return s;
}

int main(void)
{
    CHECK_GRADIENT(in_chunks, 5);
    CHECK_GRADIENT(dynamic, 5);
    CHECK_GRADIENT(ordered, 5);
    CHECK_GRADIENT(parts, 4);
    CHECK_GRADIENT(one_of_them, 3);
    CHECK_GRADIENT(orphaned, 6);
    CHECK_GRADIENT(locked, 6);
    CHECK_GRADIENT(protected, 16);
    CHECK_GRADIENT(simd, 6);
    CHECK_GRADIENT(scanned, 6);
    CHECK_GRADIENT(after_another, 5);
    CHECK_GRADIENT(nothing_to_do, 4);
    CHECK_GRADIENT(of_teams, 4);
    return failures();
}
