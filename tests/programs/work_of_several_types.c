/* A work array behind a pointer in a struct of the caller's: for numbers first, for indices and small floats then. */
#include "selfcheck.h"

struct work { void *memory; const double *x; };

__attribute__((noinline)) static double numbers(double *kept, const double *x)
{
    double sum = 0;
    for (int i = 0; i < 4; i++)
        kept[i] = x[i] * x[i];
    for (int i = 0; i < 4; i++)
        sum += sin(kept[i]) * kept[(i + 1) % 4];
    return sum;
}

__attribute__((noinline)) static double indices(int *kept, const double *x)
{
    double sum = 0;
    for (int i = 0; i < 8; i++)
        kept[i] = 3 * i;
    for (int i = 0; i < 8; i++)
        sum += kept[i] * x[kept[i] % 4];
    return sum;
}

static double run(struct work *w)
{
    double sum = numbers(w->memory, w->x);
    sum *= indices(w->memory, w->x);
    float *small = w->memory;
    for (int i = 0; i < 8; i++)
        small[i] = 0.5f * i;
    for (int i = 0; i < 8; i++)
        sum += small[i] * w->x[i % 4];
    return sum;
}

static double f(const double *x, int n)
{
    (void)n;
    struct work w = {malloc(64), x};
    double value = run(&w);
    free(w.memory);
    return value;
}

int main(void)
{
    double x[4], dx[4] = {0};
    sample(x, 4);
    struct work w = {malloc(64), x}, d = {calloc(64, 1), dx};
    __enzyme_autodiff((void *)run, enzyme_dup, &w, &d);
    for (int i = 0; i < 4; i++)
        expect("gradient", i, dx[i], slope_by(f, 4, i));
    free(w.memory), free(d.memory);
    return failures();
}
