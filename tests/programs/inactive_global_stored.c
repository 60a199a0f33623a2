/* Active values stored in inactive variables and read again: constant there, however far LLVM optimises. */
#include "selfcheck.h"
static double cache, kept[4];
static struct { int n; double v[3]; } state __attribute__((annotate("enzyme_inactive")));
void *__enzyme_inactive_global_cache = &cache, *__enzyme_inactive_global_kept = &kept;
static double f(double x)
{
    cache = x * x;
    return cache * x;
}
static double g(double x)
{
    double s = 0;
    for (int i = 0; i < 4; i++)
        kept[i] = x * i;
    kept[1] = x;
    for (int i = 0; i < 4; i++)
        s += kept[i] * x;
    return s;
}
static double h(double x)
{
    state.n = 2;
    for (int i = 0; i < 3; i++)
        state.v[i] = x;
    return state.v[1] * state.n * x;
}
static void check(const char *what, double reverse, double forward, double wanted)
{
    expect(what, 0, reverse, wanted);
    expect(what, 1, forward, wanted);
}
#define CHECK(f, wanted) check(#f, __enzyme_autodiff((void *)f, 1.3), __enzyme_fwddiff((void *)f, 1.3, 1.0), wanted)
int main(void)
{
    CHECK(f, 1.69);
    CHECK(g, 1.3 * 6);
    CHECK(h, 2.6);
    return failures();
}
