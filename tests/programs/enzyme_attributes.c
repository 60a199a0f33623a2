/* The attributes of Enzyme's plugin of clang: llgrad's drivers make annotations of them. */
#include "selfcheck.h"
__attribute__((enzyme_inactive)) double half_of(double x);
__attribute__((noinline)) double half_of(double x) { return x / 2; }
__attribute__((enzyme_inactive)) static double level_of(double x) { return x * x; }
__attribute__((enzyme_inactive)) double log_of_last;
__attribute__((enzyme_function_like("log1p"), noinline)) static double my_log(double x) { return 3 * x; }
__attribute__((enzyme_shouldrecompute)) static double squared(double x) { return x * x; }
__attribute__((__enzyme_nofree__, noinline)) static double same(double x) { return x; }
__attribute__((enzyme_nocache, __enzyme_no_escaping_allocation__)) static double f(double x)
{
    log_of_last = x;
    return half_of(same(x)) * x + log_of_last * x + level_of(x) * x;
}
static double g(double x) { return my_log(x) * squared(x); }
int main(void)
{
    expect("inactive", 0, __enzyme_autodiff((void *)f, 3.0), 1.5 + 3 + 9);
    expect("inactive", 1, __enzyme_fwddiff((void *)f, 3.0, 1.0), 1.5 + 3 + 9);
    expect("like", 2, __enzyme_autodiff((void *)g, 0.5), 0.25 / 1.5 + 1.5 * 2 * 0.5);
    expect("like", 3, __enzyme_fwddiff((void *)g, 0.5, 1.0), 0.25 / 1.5 + 1.5 * 2 * 0.5);
    return failures();
}
