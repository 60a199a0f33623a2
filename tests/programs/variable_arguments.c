/* Functions with variable arguments: doubles, pairs, pointers, a copied list, a list handed on, structs, more than fit in registers. */
#include <stdarg.h>
#include "selfcheck.h"
struct pair { double x, y; };
struct wide { double a[4]; int n; };
static double total(int n, ...)
{
    va_list list;
    va_start(list, n);
    double s = 0;
    for (int i = 0; i < n; i++)
        s = s * 0.5 + va_arg(list, double);
    va_end(list);
    return s;
}
static __attribute__((noinline)) double product_of(int n, va_list list)
{
    double s = 1;
    while (n--)
        s *= va_arg(list, double);
    return s;
}
static double products(int n, ...)
{
    va_list list, again;
    va_start(list, n);
    va_copy(again, list);
    double s = product_of(n, list) + 0.1 * product_of(n - 1, again);
    va_end(list);
    va_end(again);
    return s;
}
static double terms(const double *x, int n, ...)
{
    va_list list;
    va_start(list, n);
    double s = 0;
    for (int i = 0; i < n; i++) {
        int k = va_arg(list, int);
        double w = va_arg(list, double);
        s += w * w * x[k];
    }
    va_end(list);
    return s;
}
static void scale(double by, int n, ...)
{
    va_list list;
    va_start(list, n);
    for (int i = 0; i < n; i++)
        *va_arg(list, double *) *= by + i;
    va_end(list);
}
static __attribute__((noinline)) double mixed(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    double s = va_arg(list, int);
    s *= va_arg(list, double);
    s += *va_arg(list, const double *);
    struct pair p = va_arg(list, struct pair);
    struct wide w = va_arg(list, struct wide);
    s += p.x * p.y + w.a[1] * w.a[3] * w.n;
    va_end(list);
    return s * (format[0] == 'x' ? 2 : 1);
}
static __attribute__((noinline)) void note(const char *format, ...)
{
    char text[64];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (strncmp(text, "x is 0.35", 9) && text[0] != 'x')
        abort();
}
static double f(const double *x, int n)
{
    struct pair p = {x[0], x[1]};
    struct wide w = {{1, x[0], 3, x[2]}, 2};
    double a = x[1], b = x[2], s = 0;
    note("x is %f, of %d %s", x[0], n, "numbers");
    for (int i = 0; i < n; i++)
        scale(x[i], 2, &a, &b);
    s += total(10, x[0], x[1], x[2], a, b, x[1], x[2], x[0], a * b, x[2]);
    s += products(3, x[0], x[1], x[2]) * terms(x, 3, 1, x[0], 0, 2 * x[1], 2, x[2]);
    return s + mixed("x", 4, x[0], &x[1], p, w);
}
int main(void) { CHECK_GRADIENT(f, 3); return failures(); }
