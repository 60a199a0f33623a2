// A variadic function of our own.
#include <stdarg.h>
static double total(int n, ...) {
    va_list list;
    va_start(list, n);
    double s = 0;
    for (int i = 0; i < n; i++) s = s * 0.5 + va_arg(list, double);
    va_end(list);
    return s;
}
double variadic_call(double *x, int n) { return total(3, x[0], x[1] * x[2], x[3]); }
