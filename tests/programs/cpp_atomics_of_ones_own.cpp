// std::atomic<double> in variables that no other thread sees.
#include "selfcheck.h"
#include <atomic>

static double added(const double *x, int n)
{
    std::atomic<double> s{0};
    for (int i = 0; i < n; i++) {
        double old = s.load();
        while (!s.compare_exchange_weak(old, old + x[i] * x[i])) {
        }
    }
    return s.load() * s;
}

#if __cplusplus >= 202002L
static double fetched(const double *x, int n)
{
    std::atomic<double> s{1};
    double t = 0;
    for (int i = 0; i < n; i++)
        t += s.fetch_add(x[i] * x[i], std::memory_order_relaxed) * (s -= x[0]);
    return t * s;
}
#endif

template <class F> static void update(std::atomic<double> &s, F f)
{
    double old = s.load(std::memory_order_relaxed);
    while (!s.compare_exchange_strong(old, f(old), std::memory_order_acq_rel, std::memory_order_relaxed)) {
    }
}

static double updated(const double *x, int n)
{
    std::atomic<double> s{1};
    for (int i = 0; i < n; i++) {
        update(s, [=](double v) { return v * x[i] + sin(v); });
        s.exchange(s * 2);
    }
    return s;
}

int main()
{
    CHECK_GRADIENT(added, 4);
    CHECK_GRADIENT(updated, 4);
#if __cplusplus >= 202002L
    CHECK_GRADIENT(fetched, 4);
#endif
    return failures();
}
