/* What is passed on the stack: structs by value and variable arguments, in code that clang has optimised (tail calls). */
#include <stdarg.h>
#include <stdio.h>

typedef struct { double a, b, c; } big;
extern int enzyme_const, enzyme_out;
double __enzyme_autodiff(void *, ...), __enzyme_fwddiff(void *, ...);

__attribute__((noinline)) static double squares(int n, ...) {
    va_list list;
    va_start(list, n);
    double sum = 0;
    for (int i = 0; i < n; i++) {
        double v = va_arg(list, double);
        sum += v * v;
    }
    va_end(list);
    return sum;
}
__attribute__((noinline)) static double weight(big v) {
    double sum = 0;
    for (int i = 0; i < 3; i++) sum += (&v.a)[i] * v.b;
    return sum;
}
double variable(double x) { return squares(3, x, 2 * x, 3.0); }
double by_value(double x) { return weight((big){x, 2 * x, 3}); }
double product(big v, double k) { return v.a * v.b * v.c * k; }
__attribute__((noinline)) double asks(double x, double k) {
    return __enzyme_autodiff((void *)product, enzyme_const, (big){x, 2, x}, enzyme_out, k);
}
double through(double x) { return asks(x, 2); }

int main(void) {
    double got[] = {
        __enzyme_autodiff((void *)variable, 2.0), __enzyme_fwddiff((void *)variable, 2.0, 1.0),
        __enzyme_autodiff((void *)by_value, 2.0), __enzyme_fwddiff((void *)by_value, 2.0, 1.0),
        asks(3, 5), __enzyme_fwddiff((void *)through, 3.0, 1.0),
    };
    double expected[] = {20, 20, 30, 30, 18, 12};
    int bad = 0;
    for (int i = 0; i < 6; i++)
        if (got[i] != expected[i]) printf("%d: %g, not %g\n", i, got[i], expected[i]), bad = 1;
    return bad;
}
