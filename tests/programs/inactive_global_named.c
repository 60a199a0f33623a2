/* A global that the program says is inactive: what goes through it has no derivative. */
#include "selfcheck.h"
double store;
void *__enzyme_inactive_global_store = &store;
__attribute__((noinline)) static void keep(double x) { store = x; }
__attribute__((noinline)) static double kept(void) { return store; }
static double f(double x)
{
    keep(x);
    return kept() * x;
}
int main(void)
{
    expect("one factor", 0, __enzyme_autodiff((void *)f, 3.0), 3);
    return failures();
}
