/* Integers that threads share, beside numbers in one allocation: counted, exchanged, compared and set. */
#include <stdatomic.h>
#include "selfcheck.h"
struct cell { atomic_int references; double value; atomic_long marks; };
static struct cell *make(double value)
{
    struct cell *c = (struct cell *)malloc(sizeof *c);
    atomic_init(&c->references, 1);
    atomic_init(&c->marks, 0);
    c->value = value;
    return c;
}
static void take(struct cell *c) { atomic_fetch_add(&c->references, 1); }
static void drop(struct cell *c)
{
    if (atomic_fetch_sub(&c->references, 1) == 1)
        free(c);
}
static int take_if_alive(struct cell *c)
{
    int seen = atomic_load(&c->references);
    while (seen)
        if (atomic_compare_exchange_weak(&c->references, &seen, seen + 1))
            return 1;
    return 0;
}
static double f(const double *x, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        struct cell *c = make(x[i] * x[i]);
        take(c);
        if (take_if_alive(c)) {
            c->value *= 2;
            drop(c);
        }
        atomic_fetch_or(&c->marks, 3);
        long marks = atomic_exchange(&c->marks, 7);
        s += c->value * (i + 1) * marks;
        drop(c);
        drop(c);
    }
    return s;
}
int main(void) { CHECK_GRADIENT(f, 3); return failures(); }
