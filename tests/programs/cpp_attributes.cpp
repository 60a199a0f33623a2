/* Attributes and registrations of templates, their members and lambdas. */
#include "selfcheck.h"
#include <cstddef>
template <class T> __attribute__((enzyme_function_like("log1p"), noinline)) T my_log(T x) { return 3 * x; }
template <class T> __attribute__((enzyme_inactive)) T noted(T x);
template <class T> [[clang::annotate("enzyme_inactive")]] inline T level(T x) { return x * x; }
template <class T> struct Meter {
    __attribute__((__enzyme_inactive__)) static T read(T x) { return x * x * x; }
    __attribute__((enzyme_inactive)) T operator()(T x) const { return offset + x; }
    [[clang::annotate("enzyme_function_like=exp")]] static T grow(T x);
    T offset;
};
template <class T> T Meter<T>::grow(T x) { return 2 + x; }
template <class T> T noted(T x) { return x / 2; }

static long held, wrong;
template <class T> struct Pool {
    static T *take(std::size_t count, std::size_t bytes)
    {
        std::size_t *p = (std::size_t *)std::malloc(16 + bytes);
        *p = count;
        held += (long)count;
        return (T *)(p + 2);
    }
    static void give(T *block, std::size_t count)
    {
        std::size_t *p = (std::size_t *)block - 2;
        wrong += *p != count;
        held -= (long)*p;
        std::free(p);
    }
};
template struct Pool<double>;
void *__enzyme_allocation_like_pool[] = {(void *)Pool<double>::take, (void *)1, (void *)"-1,0", (void *)Pool<double>::give};

static double ruled(const double *x, int n)
{
    double *logs = Pool<double>::take(n, n * sizeof(double)), sum = 0;
    for (int i = 0; i < n; i++) logs[i] = x[i] * x[(i + 1) % n];
    for (int i = 0; i < n; i++) sum += logs[i] * logs[(i + 1) % n];
    Pool<double>::give(logs, n);
    return sum;
}
static double f(double x)
{
    Meter<double> meter = {1};
    return my_log(x) + noted(x) * x + level(x) * x + Meter<double>::read(x) * x + meter(x) * x + Meter<double>::grow(x);
}
int main()
{
    double wanted = 1 / 3.0 + 1 + 4 + 8 + 3 + 4;
    expect("reverse", 0, __enzyme_autodiff((void *)f, 2.0), wanted);
    expect("forward", 0, __enzyme_fwddiff((void *)f, 2.0, 1.0), wanted);
    CHECK_GRADIENT(ruled, 4);
    expect("held", 0, held, 0);
    expect("with their counts", 0, wrong, 0);
    return failures();
}
