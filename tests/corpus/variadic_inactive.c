// A function with variable arguments, all of them integers.
#include <stdarg.h>
#include <stdio.h>
static __attribute__((noinline)) int total(int count, ...) {
    va_list list;
    int s = 0;
    va_start(list, count);
    for (int i = 0; i < count; i++) s += va_arg(list, int);
    va_end(list);
    return s;
}
static __attribute__((noinline)) void note(const char *format, ...) {
    char text[64];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
}
double variadic_inactive(double *x, int n) {
    note("%d of %f", n, x[0]);
    return x[0] * total(3, n, 2, 4) + x[1] * total(1, 5);
}
