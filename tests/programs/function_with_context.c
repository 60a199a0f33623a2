/* Functions in a struct with their parameters, as GSL has them. */
#include "selfcheck.h"
#define CHK(got, wanted) expect_within(#got, __LINE__, got, wanted, 1e-5)
#define FD1(e, v)                                                                                                    \
    ({                                                                                                               \
        double v_ = (v), h_ = 1e-5, up_, down_;                                                                      \
        (v) = v_ + h_;                                                                                               \
        up_ = (e);                                                                                                   \
        (v) = v_ - h_;                                                                                               \
        down_ = (e);                                                                                                 \
        (v) = v_;                                                                                                    \
        (up_ - down_) / (2 * h_);                                                                                    \
    })

typedef struct {
    double (*function)(double x, void *params);
    void *params;
} gsl_function;
typedef struct {
    double a, b, c;
} par;
static double quad(double x, void *p)
{
    par *q = p;
    return (q->a * x + q->b) * x + q->c;
}
static double expo(double x, void *p) { return *(double *)p * exp(x); }
static double trap(gsl_function *F, double a, double b, int n)
{
    double h = (b - a) / n, s = (F->function(a, F->params) + F->function(b, F->params)) / 2;
    for (int i = 1; i < n; i++)
        s += F->function(a + i * h, F->params);
    return s * h;
}
double I(double a, double b, double c, int which)
{
    par p = {a, b, c};
    double q = a * b;
    gsl_function F;
    if (which) {
        F.function = quad;
        F.params = &p;
    } else {
        F.function = expo;
        F.params = &q;
    }
    return trap(&F, 0, c, 20);
}
struct d3 {
    double a, b, c;
};
struct d3 __enzyme_autodiff_3(void *, ...);
int main()
{
    double a = 1.1, b = .7, c = 2;
    for (int w = 0; w < 2; w++) {
        struct d3 r = __enzyme_autodiff_3((void *)I, enzyme_out, a, enzyme_out, b, enzyme_out, c, enzyme_const, w);
        CHK(r.a, FD1(I(a, b, c, w), a));
        CHK(r.b, FD1(I(a, b, c, w), b));
        CHK(r.c, FD1(I(a, b, c, w), c));
        CHK(__enzyme_fwddiff((void *)I, enzyme_dup, a, 1.0, enzyme_dup, b, 2.0, enzyme_const, c, enzyme_const, w),
            r.a + 2 * r.b);
    }
    return failures();
}
