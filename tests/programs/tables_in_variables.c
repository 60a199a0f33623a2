/* Variables that point to constant tables of functions, as libraries write their "types"; a handler that is never set. */
#include <stdlib.h>
#include "selfcheck.h"
struct method {
    const char *name;
    double (*eval)(const double *, double);
    int (*start)(void *, const double *, const double *, size_t);
    int (*other)(void *, double *, double *, int *);
};
static double line(const double *y, double t) { return y[0] * t + y[1]; }
static double product(const double *y, double t) { return y[0] * t * y[1]; }
static const struct method linear = {"linear", line, 0, 0}, multiplied = {"product", product, 0, 0};
const struct method *method_linear = &linear, *method_product = &multiplied;
void (*handler)(const char *, int) = 0;

struct interpolation { const struct method *method; int n; };
static void fail(const char *reason)
{
    if (handler)
        handler(reason, 1);
    abort();
}
static struct interpolation *make(const struct method *method, int n)
{
    struct interpolation *made = malloc(sizeof *made);
    if (!made)
        fail("no memory");
    made->method = method;
    made->n = n;
    return made;
}
__attribute__((noinline)) static double evaluate(const struct interpolation *p, const double *y, double t)
{
    if (t < 0)
        fail("out of range");
    return p->method->eval(y, t);
}
static double f(const double *x, int n)
{
    struct interpolation *p = make(method_linear, n), *q = make(method_product, n);
    double sum = 0;
    for (int i = 0; i + 1 < n; i++)
        sum += evaluate(p, x + i, 0.5) + 3 * evaluate(q, x + i, 2 + x[i + 1]);
    free(p);
    free(q);
    return sum;
}
int main(void) { CHECK_GRADIENT(f, 5); return failures(); }
