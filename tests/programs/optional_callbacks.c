/* Callbacks that a program may set and does not: null in a table of options, and in options that are passed. */
#include "selfcheck.h"
typedef struct {
    double scale;
    double (*model)(const double *, double);
    double (*correction)(const double *, const double *, double);
    void (*log)(double);
} options;
static double product(const double *x, double c) { return x[0] * x[1] * c; }
static double sum(const double *x, double c) { return x[0] * x[0] + x[2] * c; }
static options table[4];
static int chosen;

static double evaluated(const options *o, const double *x, int n)
{
    double r = o->model(x, o->scale);
    if (o->correction) r += o->correction(x, x + 1, r);
    if (o->log) o->log(r);
    return r * x[n - 1];
}
static double of_table(const double *x, int n) { return evaluated(table + chosen, x, n); }
static double given(const double *x, int n, const options *o) { return evaluated(o, x, n); }
static const options own = {2.5, sum, 0, 0};
static double of_own(const double *x, int n) { return given(x, n, &own); }

int main(int count, char **words)
{
    (void)words;
    table[count] = (options){3, product, 0, 0};
    table[count + 1] = (options){2, sum, 0, 0};
    for (chosen = count; chosen < count + 2; chosen++) CHECK_GRADIENT(of_table, 4);
    double x[4], grad[4] = {0}, tangent[4] = {1, 1, 1, 1}, total = 0;
    options o = {2.5, sum, 0, 0};
    sample(x, 4);
    __enzyme_autodiff((void *)given, enzyme_dup, x, grad, enzyme_const, 4, enzyme_const, &o);
    double along = __enzyme_fwddiff((void *)given, enzyme_dup, x, tangent, enzyme_const, 4, enzyme_const, &o);
    for (int i = 0; i < 4; i++) {
        double wanted = slope_by(of_own, 4, i);
        expect("passed", i, grad[i], wanted);
        total += wanted;
    }
    expect("passed, forward", 0, along, total);
    return failures();
}
