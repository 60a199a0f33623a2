/* Reverse mode of width N: the adjoints of one number in all lanes, then those of the next. */
#include "selfcheck.h"
#define CHK(got, wanted) expect_within(#got, __LINE__, got, wanted, 1e-5)

typedef struct {
    double g[3];
} g3;
g3 __enzyme_autodiff3(void *, ...);
typedef struct {
    double a[2], b[2];
} ab;
ab __enzyme_autodiff_ab(void *, ...);
void __enzyme_autodiff_v(void *, ...);
void f(double a, const double *x, double *y)
{
    for (int i = 0; i < 3; i++)
        y[i] = a * x[i] * x[(i + 1) % 3];
}
void k(double a, double b, double *y)
{
    y[0] = a * b;
    y[1] = a * a;
}
int main()
{
    double x[3] = {1, 2, 3}, y[3], dx[3][3] = {{0}}, dy[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    g3 g = __enzyme_autodiff3((void *)f, enzyme_width, 3, enzyme_out, 2.0, enzyme_dup, x, dx[0], dx[1], dx[2],
                              enzyme_dup, y, dy[0], dy[1], dy[2]);
    CHK(g.g[0], 2);
    CHK(g.g[1], 6);
    CHK(g.g[2], 3);
    CHK(dx[0][1], 2);
    CHK(dx[2][0], 6);
    double z[2], dz[2][2] = {{1, 0}, {0, 1}};
    ab r = __enzyme_autodiff_ab((void *)k, enzyme_width, 2, enzyme_out, 3.0, enzyme_out, 5.0, enzyme_dup, z, dz[0],
                                dz[1]);
    CHK(r.a[0], 5);
    CHK(r.a[1], 6);
    CHK(r.b[0], 3);
    CHK(r.b[1], 0);
    return failures();
}
