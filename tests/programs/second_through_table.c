/* Second derivatives of calls through a table of names and functions: what a failed call would say calls nothing. */
#include "selfcheck.h"
struct entry { const char *name; int (*f)(const double *, double *); };
static int logarithm(const double *a, double *r)
{
    if (a[0] <= 0)
        return 1;
    *r = log(a[0]) * a[1];
    return 0;
}
static int power(const double *a, double *r)
{
    *r = pow(a[0], a[1]);
    return 0;
}
static const struct entry table[] = {{"log", logarithm}, {"pow", power}};
static int call(const char *name, const double *a, double *r)
{
    for (int i = 0; i < 2; i++)
        if (strcmp(name, table[i].name) == 0)
            return table[i].f(a, r);
    return 2;
}
static double f(const double *x, int n)
{
    static const char *const names[] = {"log", "pow", "none"};
    double a[2], r = 0, s = 0;
    for (int i = 0; i < n; i++) {
        a[0] = x[i];
        a[1] = x[(i + 1) % n];
        s += call(names[i % 3], a, &r) == 0 ? r * x[0] : -x[i] * s;
    }
    return s;
}
static void gradient(const double *x, double *d, int n)
{
    __enzyme_autodiff_void((void *)f, enzyme_dup, x, d, enzyme_const, n);
}
static double along(const double *x, int n)
{
    double d[4] = {0};
    gradient(x, d, n);
    return d[0] - 2 * d[1] + d[2] + d[3] / 2;
}
int main(void)
{
    CHECK_GRADIENT(f, 4);
    for (int i = 0; i < 4; i++) {
        double x[4], t[4] = {1, -2, 1, 0.5}, d[4] = {0}, dd[4] = {0};
        sample(x, 4);
        __enzyme_fwddiff_void((void *)gradient, enzyme_dup, x, t, enzyme_dup, d, dd, enzyme_const, 4);
        expect("second", i, dd[i], slope_by(along, 4, i));
    }
    return failures();
}
