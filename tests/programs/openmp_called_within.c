/* Derivatives that threads of the program ask for, each with shadows of its own; what the function does within a
 * parallel region of its own, and what it asks of the team that calls it. */
#include "selfcheck.h"
#include <omp.h>

enum { TASKS = 12, N = 40 };

static double counted;

static double energy(const double *x, int n)
{
    double s = 0;
#pragma omp parallel for reduction(+ : s) schedule(dynamic)
    for (int i = 0; i < n; i++)
        s += x[i] * x[i] * x[(i + 1) % n] + omp_get_thread_num();
    return s;
}

static double plain(const double *x, int n)
{
    double s = 1;
    for (int i = 0; i < n; i++)
        s *= 1 + 0.01 * sin(x[i]);
    return s;
}

/* Which part of x it takes depends on the thread that calls it. */
static double of_thread(const double *x, int n)
{
    double s = 0;
    int me = omp_get_thread_num(), of = omp_get_num_threads();
    for (int i = me; i < n; i += of)
        s += x[i] * x[i];
#pragma omp critical(counting)
    counted += 1;
    return s;
}

/* A region that never has a team. */
static double alone(const double *x, int n)
{
    double s = 0;
#pragma omp parallel if (0)
    {
#pragma omp for schedule(dynamic)
        for (int i = 0; i < n; i++)
            s += x[i] * x[i] * (1 + omp_get_thread_num());
    }
    return s;
}

int main(void)
{
    double x[N], d[TASKS][N], e[TASKS][N], one[N];
    memset(d, 0, sizeof d);
    memset(e, 0, sizeof e);
    sample(x, N);
#pragma omp parallel for num_threads(4) schedule(dynamic)
    for (int k = 0; k < TASKS; k++) {
        __enzyme_autodiff_void((void *)energy, enzyme_dup, x, d[k], enzyme_const, N);
        __enzyme_autodiff_void((void *)plain, enzyme_dup, x, e[k], enzyme_const, N);
    }
    clear(one, N);
    double whole = plain(x, N);
    for (int k = 0; k < TASKS; k++)
        for (int i = 0; i < N; i++) {
            int before = (i + N - 1) % N, after = (i + 1) % N;
            expect("energy", i, d[k][i], 2 * x[i] * x[after] + x[before] * x[before]);
            expect("plain", i, e[k][i], whole / (1 + 0.01 * sin(x[i])) * 0.01 * cos(x[i]));
        }
    int team = 0;
#pragma omp parallel num_threads(3)
    {
        double own[N] = {0};
        double all[N] = {0};
        __enzyme_autodiff_void((void *)alone, enzyme_dup, x, all, enzyme_const, N);
        for (int i = 0; i < N; i++)
            expect("alone", i, all[i], 2 * x[i]);
        __enzyme_autodiff_void((void *)of_thread, enzyme_dup, x, own, enzyme_const, N);
#pragma omp critical
        {
            team = omp_get_num_threads();
            for (int i = 0; i < N; i++)
                one[i] += own[i];
        }
    }
    for (int i = 0; i < N; i++)
        expect("of_thread", i, one[i], 2 * x[i]);
    expect("counted", 0, counted, team);
    return failures();
}
