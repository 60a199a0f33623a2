/* Two floats in one register, three in two. */
#include "selfcheck.h"
struct xy { float x, y; };
struct xyz { float x, y, z; };
__attribute__((noinline)) static struct xy turned(struct xy p)
{
    struct xy r = {-p.y * 2, p.x * p.y};
    return r;
}
__attribute__((noinline)) static float norm(struct xyz p) { return p.x * p.x + p.y * p.z; }
static double f(const double *x, int n)
{
    (void)n;
    struct xy p = {(float)x[0], (float)x[1]};
    p = turned(turned(p));
    struct xyz q = {p.x, p.y, (float)x[2]};
    return norm(q);
}
int main(void)
{
    double x[3], d[3] = {0}, a, b, c;
    sample(x, 3);
    __enzyme_autodiff_void((void *)f, enzyme_dup, x, d, enzyme_const, 3);
    a = x[0], b = x[1], c = x[2];
    /* p = (-2ab, -2b a), then (4ab·b... ) written out: r1 = (-2b, ab), r2 = (-2ab, -2ab²), f = 4a²b² - 2ab²c */
    expect_within("by a", 0, d[0], 8 * a * b * b - 2 * b * b * c, 1e-5);
    expect_within("by b", 1, d[1], 8 * a * a * b - 4 * a * b * c, 1e-5);
    expect_within("by c", 2, d[2], -2 * a * b * b, 1e-5);
    return failures();
}
