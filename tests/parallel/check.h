/* Self-checking parallel programs: derivatives against finite differences, in as many threads as the function itself.

   A program defines functions f(x, y) of N numbers x, which it reads, and N numbers y, which it reads and writes, and
   lists them: CASES(f, g, …). Within its regions it calls RAN. Arguments: how often to run, and what to check. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 48, MOST = 64 };
extern int enzyme_dup;
void __enzyme_fwddiff(void *, ...);
void __enzyme_autodiff(void *, ...);

static int ran[MOST];
#define RAN ran[omp_get_thread_num()] = 1

typedef void Function(const double *x, double *y);
typedef struct {
    const char *name;
    Function *f;
    void (*forward)(const double *x, const double *dx, double *y, double *dy);
    void (*reverse)(const double *x, double *dx, double *y, double *dy);
} Case;

static int failures;

static int threads(void)
{
    int found = 0;
    for (int i = 0; i < MOST; i++) found += ran[i];
    memset(ran, 0, sizeof ran);
    return found;
}

static void fail(const char *name, const char *what, int at, double found, double wanted)
{
    printf("%s: %s[%d] is %.12g, not %.12g\n", name, what, at, found, wanted);
    failures++;
}

static void close_to(const char *name, const char *what, int at, double found, double wanted, double tolerance)
{
    if (!(fabs(found - wanted) <= tolerance * (1 + fabs(wanted)))) fail(name, what, at, found, wanted);
}

static double wave(int i, double k) { return 0.9 + 0.4 * sin(k * i + 1); }

static void check(const Case *c, int reversed)
{
    const double h = 1e-6;
    double x[N], dx[N], y[N], dy[N], y0[N], dy0[N], up[N], down[N], moved[N], found[N];
    for (int i = 0; i < N; i++) {
        x[i] = wave(i, 1.1), dx[i] = wave(i, 2.3) - 0.9, y0[i] = wave(i, 0.7), dy0[i] = wave(i, 3.1) - 0.9;
    }
    memcpy(y, y0, sizeof y), threads();
    c->f(x, y);
    int team = threads();
    for (int sign = -1; sign <= 1; sign += 2) {
        double *end = sign < 0 ? down : up;
        for (int i = 0; i < N; i++) moved[i] = x[i] + sign * h * dx[i], end[i] = y0[i] + sign * h * dy0[i];
        c->f(moved, end);
    }
    for (int i = 0; i < N; i++) dy[i] = (up[i] - down[i]) / (2 * h);
    threads();
    memcpy(found, y0, sizeof found);
    if (!reversed) {
        double tangent[N];
        memcpy(tangent, dy0, sizeof tangent);
        c->forward(x, dx, found, tangent);
        for (int i = 0; i < N; i++) close_to(c->name, "tangent", i, tangent[i], dy[i], 1e-7);
    } else {
        double seed[N], bar[N] = {0}, left = 0, right = 0;
        for (int i = 0; i < N; i++) seed[i] = wave(i, 1.7), left += seed[i] * dy[i];
        c->reverse(x, bar, found, seed);
        for (int i = 0; i < N; i++) right += bar[i] * dx[i] + seed[i] * dy0[i];
        close_to(c->name, "product", 0, right, left, 1e-7);
    }
    for (int i = 0; i < N; i++) close_to(c->name, "value", i, found[i], y[i], 1e-12);
    int now = threads();
    if (now < team && team <= omp_get_max_threads()) fail(c->name, "threads", 0, now, team);
}

#define FORWARD(f)                                                                                                     \
    static void forward_##f(const double *x, const double *dx, double *y, double *dy)                                  \
    {                                                                                                                  \
        __enzyme_fwddiff((void *)f, enzyme_dup, x, dx, enzyme_dup, y, dy);                                             \
    }
#define REVERSE(f)                                                                                                     \
    static void reverse_##f(const double *x, double *dx, double *y, double *dy)                                        \
    {                                                                                                                  \
        __enzyme_autodiff((void *)f, enzyme_dup, x, dx, enzyme_dup, y, dy);                                            \
    }

static int run(const Case *cases, int count, int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 1;
    for (int t = 0; t < times; t++)
        for (int n = 0; n < count; n++) {
            if (argc > 2 && strcmp(argv[2], cases[n].name)) continue;
            if (cases[n].forward) check(&cases[n], 0);
            if (cases[n].reverse) check(&cases[n], 1);
        }
    return failures != 0;
}
