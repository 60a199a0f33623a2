// Coroutines: a generator whose frame lies on the heap, and one that holds an active value between its steps.
#include "selfcheck.h"
#include <coroutine>
struct Generator {
    struct promise_type {
        double value;
        Generator get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(double v) { value = v; return {}; }
        void return_void() {}
        void unhandled_exception() {}
    };
    std::coroutine_handle<promise_type> handle;
};
static Generator powers(double x, int n)
{
    double y = x;
    for (int i = 0; i < n; i++) {
        co_yield y;
        y *= x;
    }
}
static Generator running(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        co_yield sum += x[i] * x[i];
}
static double summed(Generator g, double w)
{
    double s = 0;
    for (g.handle.resume(); !g.handle.done(); g.handle.resume())
        s += w * g.handle.promise().value;
    g.handle.destroy();
    return s;
}
static double f(const double *x, int n) { return summed(powers(x[0], n), x[1]); }
static double g(const double *x, int n) { return summed(running(x, n), x[2]); }
int main()
{
    CHECK_GRADIENT(f, 4);
    CHECK_GRADIENT(g, 4);
    return failures();
}
