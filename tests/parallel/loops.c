/* Worksharing loops, and what stands beside them in a region. */
#include "check.h"

static void map(const double *x, double *y)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++) RAN, y[i] = x[i] * sin(x[i]) + y[i] * y[i];
}

static void chunks(const double *x, double *y)
{
#pragma omp parallel for schedule(static, 3)
    for (int i = 1; i < N; i++) RAN, y[i] *= x[i] * x[i - 1];
}

static void dynamic(const double *x, double *y)
{
#pragma omp parallel
    {
        RAN;
#pragma omp for schedule(dynamic, 2)
        for (int i = 0; i < N; i++) {
            double s = 0;
            for (int j = 0; j <= i; j++) s += x[j] * x[i - j];
            y[i] += s * s;
        }
    }
}

static void guided(const double *x, double *y)
{
#pragma omp parallel
    {
        RAN;
#pragma omp for schedule(guided)
        for (long i = N - 1; i >= 0; i -= 2) y[i] = exp(-x[i]) * y[i];
    }
}

static void runtime_schedule(const double *x, double *y)
{
#pragma omp parallel
    {
        RAN;
#pragma omp for schedule(runtime)
        for (unsigned i = 0; i < N; i++) y[i] = x[N - 1 - i] * x[i];
    }
}

static void collapsed(const double *x, double *y)
{
#pragma omp parallel for collapse(2)
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 8; j++) RAN, y[8 * i + j] = x[8 * i + j] * x[8 * i] + y[8 * i + j] * x[j];
}

static void sum(const double *x, double *y)
{
    double s = y[0], k = x[1];
#pragma omp parallel for reduction(+ : s) firstprivate(k)
    for (int i = 0; i < N; i++) RAN, s += k * x[i] * x[i];
    y[0] = s * s;
}

static void product(const double *x, double *y)
{
    double p = y[3];
#pragma omp parallel for reduction(* : p)
    for (int i = 0; i < N; i++) RAN, p *= x[i] / 0.9;
    y[3] = p;
}

static void largest(const double *x, double *y)
{
    double m = -1e300, l = 1e300;
#pragma omp parallel for reduction(max : m) reduction(min : l)
    for (int i = 0; i < N; i++) {
        RAN;
        m = fmax(m, x[i] * x[i]);
        l = fmin(l, x[i]);
    }
    y[1] = m * y[2], y[2] = l * l;
}

static void sums(const double *x, double *y)
{
    double s[4] = {y[0], y[1], 0, 0};
#pragma omp parallel for reduction(+ : s[:4])
    for (int i = 0; i < N; i++) RAN, s[i % 4] += x[i] * x[i];
    for (int i = 0; i < 4; i++) y[i] = s[i] * s[(i + 1) % 4];
}

static void phases(const double *x, double *y)
{
    double t[N];
#pragma omp parallel
    {
        RAN;
#pragma omp for
        for (int i = 0; i < N; i++) t[i] = x[i] * y[i];
#pragma omp for schedule(static, 1) nowait
        for (int i = 0; i < N; i++) y[i] = t[N - 1 - i] * t[i] + sin(t[(i + 5) % N]);
    }
}

static void once(const double *x, double *y)
{
    double k = 0;
#pragma omp parallel
    {
        RAN;
#pragma omp single
        k = x[0] * x[1];
#pragma omp for
        for (int i = 2; i < N; i++) y[i] = k * x[i] * y[i];
#pragma omp master
        y[0] = k * k;
#pragma omp barrier
#pragma omp single nowait
        y[1] = y[0] * x[2];
    }
}

static void parts(const double *x, double *y)
{
#pragma omp parallel
    {
        RAN;
#pragma omp sections
        {
#pragma omp section
            y[0] = x[0] * x[1];
#pragma omp section
            y[1] = sin(x[1]) * y[1];
#pragma omp section
            y[2] = x[0] / x[2];
        }
    }
}

static void critical(const double *x, double *y)
{
    double s = y[0], p = 1;
#pragma omp parallel for
    for (int i = 0; i < N; i++) {
        RAN;
        double v = x[i] * x[i];
#pragma omp critical
        s += v * 0.5;
#pragma omp critical(other)
        p *= v;
    }
    y[0] = s * s, y[1] = p;
}

static void atomics(const double *x, double *y)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++) {
        RAN;
#pragma omp atomic
        y[i % 5] += x[i] * x[i];
#pragma omp atomic update
        y[5] -= x[i];
    }
}

static void last(const double *x, double *y)
{
    double l = 0, f = x[4];
    float g = (float)0.5;
#pragma omp parallel for lastprivate(l) firstprivate(f, g)
    for (int i = 0; i < N - 1; i++) {
        RAN;
        l = f * x[i] * g;
        y[i] += l * l;
    }
    y[N - 1] = l;
}

static void by_hand(const double *x, double *y)
{
#pragma omp parallel num_threads(3)
    {
        RAN;
        int n = omp_get_num_threads(), me = omp_get_thread_num();
        for (int i = N * me / n; i < N * (me + 1) / n; i++) y[i] = x[i] * x[(i + 7) % N] + y[i];
    }
}

static double inner(const double *x, int n)
{
    double t[8] = {0};
    for (int i = 0; i < n; i++) t[i % 8] += x[i] * x[i];
    double s = 0;
    for (int i = 0; i < 8; i++) s += sqrt(t[i] + 1);
    return s;
}

__attribute__((noinline)) static void orphaned(const double *x, double *y, double k)
{
#pragma omp for schedule(static, 4)
    for (int i = 0; i < N; i++) y[i] = k * inner(x, i) + y[i];
}

static void called(const double *x, double *y)
{
    double k = inner(x, 4);
#pragma omp parallel
    {
        RAN;
        orphaned(x, y, k);
    }
}

static void perhaps(const double *x, double *y)
{
    for (int step = 0; step < 4; step++) {
#pragma omp parallel for if (step % 2 == 0)
        for (int i = 0; i < N; i++) RAN, y[i] = y[i] * cos(x[i]) + 0.1 * step * x[i];
    }
}

static void steps(const double *x, double *y)
{
    double u[2][N];
    memcpy(u[0], y, sizeof u[0]);
    for (int t = 0; t < 5; t++) {
        const double *a = u[t % 2];
        double *b = u[1 - t % 2];
#pragma omp parallel for schedule(static)
        for (int i = 0; i < N; i++) RAN, b[i] = a[i] + 0.1 * x[i] * (a[(i + 1) % N] - 2 * a[i] + a[(i + N - 1) % N]);
    }
    for (int i = 0; i < N; i++) y[i] = u[1][i];
}

static void in_order(const double *x, double *y)
{
    double s = y[0];
#pragma omp parallel for ordered schedule(static, 1)
    for (int i = 1; i < N; i++) {
        RAN;
        double v = sin(x[i]);
#pragma omp ordered
        s = 0.3 * s * s + 0.5 * v, y[i] = s;
    }
}

static void locked(const double *x, double *y)
{
    omp_lock_t lock;
    omp_init_lock(&lock);
    double s = 0;
#pragma omp parallel for
    for (int i = 0; i < N; i++) {
        RAN;
        double v = x[i] * x[i];
        omp_set_lock(&lock);
        s += v;
        omp_unset_lock(&lock);
    }
    omp_destroy_lock(&lock);
    y[0] = s * y[0];
}

static void nested_sections(const double *x, double *y)
{
    double p = y[0], q = 1;
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < N; i++) {
        RAN;
#pragma omp critical(outer)
        {
            p *= 1 + 0.1 * x[i];
#pragma omp critical(inner)
            q *= 1 + 0.1 * x[i];
#pragma omp atomic
            y[1] += 0.01 * x[i] * x[i];
            p /= 1 + 0.01 * x[i];
        }
#pragma omp critical(inner)
        q *= 1 + 0.01 * x[i] * x[i];
    }
    y[0] = p, y[2] = q;
}

/* What a thread reads in one phase, another one writes in the next. */
static void chains(const double *x, double *y)
{
    double t[N];
    memcpy(t, x, sizeof t);
#pragma omp parallel
    {
        RAN;
        for (int step = 0; step < 3; step++) {
            double own[N];
#pragma omp for schedule(static, 5)
            for (int i = 0; i < N; i++) own[i] = t[(i + 11) % N] * t[i], y[i] += own[i];
#pragma omp for schedule(dynamic)
            for (int i = 0; i < N; i++) t[i] = t[i] * t[i] * 0.7 + 0.1 * y[i];
        }
    }
}

/* One thread writes what the others read, under a condition that is not the same in all. */
static void by_turns(const double *x, double *y)
{
    double k = 1;
#pragma omp parallel
    {
        RAN;
        for (int step = 0; step < 4; step++) {
            if (omp_get_thread_num() == step % omp_get_num_threads()) k = k * x[step] + 0.1 * k * k;
#pragma omp barrier
#pragma omp for
            for (int i = 0; i < N; i++) y[i] = y[i] * k + sin(k * x[i]);
        }
    }
}

static void copies(const double *x, double *y)
{
#pragma omp parallel for
    for (int i = 0; i < N - 4; i++) {
        RAN;
        double own[4];
        for (int j = 0; j < 4; j++) own[j] = x[i + j];
        for (int j = 3; j > 0; j--) own[j - 1] += own[j] * own[j];
        y[i] += own[0];
    }
}

/* Each thread has a part of memory that is as large as teams may be. */
static void own_parts(const double *x, double *y)
{
    int threads = omp_get_max_threads();
    double *part = calloc(threads + 3, N * sizeof *part);
#pragma omp parallel
    {
        RAN;
        double *own = part + N * omp_get_thread_num();
#pragma omp for schedule(dynamic) nowait
        for (int i = 0; i < N; i++)
            for (int j = 0; j < i; j++) own[i] += x[i] * x[j], own[j] -= x[j] * x[j] * 0.1;
#pragma omp barrier
#pragma omp for
        for (int i = 0; i < N; i++)
            for (int t = 0; t < omp_get_num_threads(); t++) y[i] += part[N * t + i];
    }
    free(part);
}

#define BOTH(use)                                                                                                      \
    use(map) use(chunks) use(collapsed) use(sum) use(sums) use(phases) use(once) use(parts) use(last) use(by_hand)      \
    use(called) use(steps) use(perhaps) use(largest) use(product) use(atomics) use(critical) use(dynamic) use(guided)   \
    use(runtime_schedule) use(in_order) use(nested_sections) use(chains) use(own_parts) use(by_turns) use(copies)

#ifdef BACKWARDS
#define CASE(f) {#f, f, 0, reverse_##f},
BOTH(REVERSE)
#else
#define CASE(f) {#f, f, forward_##f, 0},
BOTH(FORWARD)
FORWARD(locked)
#endif

int main(int argc, char **argv)
{
    static const Case cases[] = {
        BOTH(CASE)
#ifndef BACKWARDS
            CASE(locked)
#endif
    };
    return run(cases, sizeof cases / sizeof cases[0], argc, argv);
}
