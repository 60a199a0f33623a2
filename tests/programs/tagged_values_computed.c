/* An interpreter of values that are integers or doubles: passed, returned and kept on a stack, as such. */
#include "selfcheck.h"
struct value { long is_double; union { long i; double d; } u; };
static struct value integer(long i) { struct value v; v.is_double = 0; v.u.i = i; return v; }
static struct value number(double d) { struct value v; v.is_double = 1; v.u.d = d; return v; }
static double as_double(struct value v) { return v.is_double ? v.u.d : (double)v.u.i; }
static struct value add(struct value a, struct value b)
{
    return a.is_double || b.is_double ? number(as_double(a) + as_double(b)) : integer(a.u.i + b.u.i);
}
static __attribute__((noinline)) struct value multiply(struct value a, struct value b)
{
    return a.is_double || b.is_double ? number(as_double(a) * as_double(b)) : integer(a.u.i * b.u.i);
}
static double f(const double *x, int n)
{
    struct value stack[8];
    int top = 0;
    for (int i = 0; i < n; i++) {
        stack[top++] = i % 3 ? number(x[i]) : integer(i + 2);
        if (top < 3)
            continue;
        struct value a = stack[--top], b = stack[--top];
        stack[top++] = i % 2 ? add(a, b) : multiply(a, b);
    }
    double sum = 1;
    while (top)
        sum *= as_double(stack[--top]) + x[0];
    return sum;
}
int main(void) { CHECK_EVERY_WAY(f, 8); return failures(); }
