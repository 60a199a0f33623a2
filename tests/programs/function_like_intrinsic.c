/* Functions that are like intrinsics of LLVM, whose names have dots. */
#include "selfcheck.h"
__attribute__((noinline, annotate("enzyme_function_like=llvm.sin.f64"))) double wave(double x) { return sin(x) + 0; }
__attribute__((noinline)) double power(double x, double y) { return pow(x, y) + 0; }
void *__enzyme_function_like[] = {(void *)power, "llvm.pow.f64"};
static double f(double x) { return wave(x) * power(x, 2.5) + wave(power(x, x)); }
static double first(double x) { return __enzyme_autodiff((void *)f, x); }
int main(void)
{
    CHECK_SLOPE(f, 0.7);
    CHECK_SLOPE(first, 0.7);
    return failures();
}
