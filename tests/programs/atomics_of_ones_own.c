/* Atomic operations on variables that no other thread sees. */
#include "selfcheck.h"
#include <stdatomic.h>

static double sum(const double *x, int n)
{
    _Atomic double s = 0;
    for (int i = 0; i < n; i++)
        s += x[i] * x[i];
    return s * s;
}

static double product(const double *x, int n)
{
    _Atomic double p = 1;
    _Atomic float f = 1;
    for (int i = 0; i < n; i++) {
        p *= x[i];
        f -= 0.5f;
    }
    return p * f;
}

static double least(const double *x, int n)
{
    _Atomic double m = 100;
    for (int i = 0; i < n; i++) {
        double old = atomic_load(&m);
        while (x[i] * x[n - 1] < old && !atomic_compare_exchange_weak(&m, &old, x[i] * x[n - 1]))
            ;
    }
    return m;
}

static double exchanged(const double *x, int n)
{
    _Atomic double last = 1;
    double s = 0;
    for (int i = 0; i < n; i++)
        s += atomic_exchange_explicit(&last, x[i] * x[i], memory_order_relaxed) * x[i];
    atomic_store_explicit(&last, s * atomic_load_explicit(&last, memory_order_acquire), memory_order_release);
    return last;
}

static double members(const double *x, int n)
{
    struct { _Atomic double even, odd; atomic_int met; } s;
    atomic_init(&s.even, 0);
    atomic_init(&s.odd, 1);
    atomic_init(&s.met, 0);
    for (int i = 0; i < n; i++) {
        if (atomic_fetch_add(&s.met, 1) % 2)
            s.odd *= x[i];
        else
            s.even += sin(x[i]);
    }
    return s.even * s.odd * s.met;
}

int main(void)
{
    CHECK_GRADIENT(sum, 5);
    CHECK_GRADIENT(product, 5);
    CHECK_GRADIENT(least, 5);
    CHECK_GRADIENT(exchanged, 4);
    CHECK_GRADIENT(members, 6);
    return failures();
}
