/* A residual of derivatives, fitted: derivatives inside what is differentiated, in both modes, and again. */
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
void __enzyme_autodiff_v(void *, ...);
struct d2 {
    double v[2];
};
struct d2 __enzyme_fwddiff2(void *, ...);
static double u(double x, double t, const double *w)
{
    return tanh(w[0] * x + w[1] * t + w[2]) * w[3] + sin(w[0] * t);
}
static double ux(double x, double t, const double *w)
{
    return __enzyme_fwddiff((void *)u, enzyme_dup, x, 1.0, enzyme_const, t, enzyme_const, w);
}
static double uxx(double x, double t, const double *w)
{
    return __enzyme_fwddiff((void *)ux, enzyme_dup, x, 1.0, enzyme_const, t, enzyme_const, w);
}
static double ut(double x, double t, const double *w)
{
    return __enzyme_autodiff((void *)u, enzyme_const, x, enzyme_out, t, enzyme_const, w);
}
double pinn(const double *w)
{
    double l = 0;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 3; j++) {
            double x = .3 * i, t = .2 * j, r = ut(x, t, w) + u(x, t, w) * ux(x, t, w) - .1 * uxx(x, t, w);
            l += r * r;
        }
    return l;
}
double both(const double *w)
{
    struct d2 r = __enzyme_fwddiff2((void *)u, enzyme_width, 2, enzyme_dup, w[0], 1., 0., enzyme_dup, w[1], 0., 1.,
                                    enzyme_const, w);
    return r.v[0] * r.v[1];
}
int main()
{
    double w[4] = {.7, -.4, .2, 1.3}, d[4] = {0}, e[4] = {0};
    __enzyme_autodiff_v((void *)pinn, enzyme_dup, w, d);
    for (int i = 0; i < 4; i++)
        CHK(d[i], FD1(pinn(w), w[i]));
    __enzyme_autodiff_v((void *)both, enzyme_dup, w, e);
    for (int i = 0; i < 4; i++)
        CHK(e[i], FD1(both(w), w[i]));
    return failures();
}
