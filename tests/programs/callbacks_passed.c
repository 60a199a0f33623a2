/* Functions that arguments lead to: passed themselves, in a struct with their context, and in a table. */
#include <math.h>
#include <stdio.h>

typedef double unary(double);
typedef struct model { double (*apply)(const struct model *, double); double rate; } model;
typedef struct { unary *stages[3]; int count; } chain;
extern int enzyme_dup, enzyme_const;
double __enzyme_autodiff(void *, ...), __enzyme_fwddiff(void *, ...);

static double square(double x) { return x * x; }
static double damped(double x) { return x * exp(-x); }
static double linear(const model *m, double x) { return m->rate * x; }
static double powered(const model *m, double x) { return pow(x, m->rate); }

double direct(unary *f, double x) { return f(f(x)) + x; }
double modelled(const model *m, double x) { return m->apply(m, m->apply(m, x)); }
double chained(const chain *c, double x) {
    for (int i = 0; i < c->count; i++) x = c->stages[i](x);
    return x;
}

static int bad;
static void check(const char *what, double got, double above, double below) {
    double slope = (above - below) / 2e-6;
    if (fabs(got - slope) > 1e-6 * (1 + fabs(slope))) printf("%s: %.10g, not %.10g\n", what, got, slope), bad = 1;
}

int main(int words, char **word) {
    double x = 1.3, h = 1e-6;
    unary *f = words > 1 ? damped : square;
    check("direct", __enzyme_autodiff((void *)direct, enzyme_const, f, x), direct(f, x + h), direct(f, x - h));
    f = damped;
    check("direct, forward", __enzyme_fwddiff((void *)direct, enzyme_const, f, enzyme_dup, x, 1.0), direct(f, x + h), direct(f, x - h));
    model m[2] = {{linear, 1.5}, {powered, 1.7}}, d[2] = {{linear, 0}, {powered, 0}};
    for (int i = 0; i < 2; i++) {
        double dx = __enzyme_autodiff((void *)modelled, enzyme_dup, m + i, d + i, x);
        check("model", dx, modelled(m + i, x + h), modelled(m + i, x - h));
        model up = m[i], down = m[i];
        up.rate += h, down.rate -= h;
        check("its rate", d[i].rate, modelled(&up, x), modelled(&down, x));
    }
    chain c = {{square, damped, square}, 3};
    check("chain", __enzyme_autodiff((void *)chained, enzyme_const, &c, x), chained(&c, x + h), chained(&c, x - h));
    return bad;
}
