/* A double is kept where a pointer is declared, against the language's rules: what its type says does not count. */
#include "selfcheck.h"

struct cell {
    long tag;
    void *p;
};

static __attribute__((noinline)) void put(struct cell *c, const double *x, int i)
{
    c->tag = i & 1;
    if (c->tag)
        c->p = (void *)(x + i);
    else
        *(double *)&c->p = x[i] * x[i];
}

static __attribute__((noinline)) void copied(struct cell *to, const struct cell *from)
{
    to->tag = from->tag;
    to->p = from->p;
}

static __attribute__((noinline)) double looked_at(const struct cell *c)
{
    return c->tag ? *(double *)c->p : *(double *)&c->p;
}

static double turned(const double *x, int n)
{
    struct cell *v = malloc(n * sizeof *v), *w = malloc(n * sizeof *w);
    double sum = 0;
    for (int i = 0; i < n; i++)
        put(v + i, x, i);
    for (int i = 0; i < n; i++)
        copied(w + n - 1 - i, v + i);
    for (int i = 0; i < n; i++)
        sum += sin(looked_at(w + i)) * (i + 1);
    free(v);
    free(w);
    return sum;
}

int main(void)
{
    CHECK_GRADIENT(turned, 6);
    return failures();
}
