/* What C programmers write: machines of instructions, arrays by their size, compound literals, negative indices. */
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
double __enzyme_autodiff_d(void *, ...);
enum K { ADD, MUL, SIN, NK };
struct ins {
    enum K k;
    int a, b;
};
double vm(double x, const struct ins *p, int n)
{
    double r[8] = {[0] = x, [1] = 2};
    int m = 2;
    for (const struct ins *q = p; q < p + n; ++q, ++m)
        r[m] = q->k == ADD ? r[q->a] + r[q->b] : q->k == MUL ? r[q->a] * r[q->b] : sin(r[q->a]);
    return r[m - 1];
}
double arr2(int n, int m, double A[n][m], double (*B)[3])
{
    double s = 0, *end = &A[n - 1][m - 1];
    for (double *q = end; q >= &A[0][0]; q--)
        s += q[0] * (q - &A[0][0] + 1);
    for (int i = 0; i < n; i++)
        s *= (B[i])[1] + *(*(B + i) + 2);
    return s;
}
struct pt {
    double x, y;
};
static struct pt *mv(struct pt *p, double d) { return p->x += d, p->y *= d, p; }
double cl(double x)
{
    struct pt *p = mv(&(struct pt){x, 2}, x), *q = mv(p, x);
    double *v = (double[]){x, p->x, q->y};
    return v[0] * v[1] + v[2] * (p == q ? 2 : 3);
}
double neg(const double *x, int n)
{
    const double *m = x + n / 2;
    double s = 0;
    for (int k = -(n / 2); k <= n / 2 - !(n & 1); k++)
        s += m[k] * m[-k < n / 2 + (n & 1) && -k >= -(n / 2) ? -k : 0];
    return s;
}
int main()
{
    struct ins p[] = {{MUL, 0, 0}, {SIN, 2, 0}, {ADD, 3, 1}, {MUL, 4, 2}, {SIN, 5, 5}};
    double x = .7;
    CHK(__enzyme_autodiff_d((void *)vm, x, enzyme_const, p, 5), FD1(vm(x, p, 5), x));
    double A[2][3] = {{1, 2, 3}, {4, 5, 6}}, dA[2][3] = {{0}}, B[2][3] = {{1, .2, .3}, {1, .5, .6}}, dB[2][3] = {{0}};
    __enzyme_autodiff_void((void *)arr2, 2, 3, enzyme_dup, A, dA, enzyme_dup, B, dB);
    for (int i = 0; i < 6; i++) {
        CHK((&dA[0][0])[i], FD1(arr2(2, 3, A, B), (&A[0][0])[i]));
        CHK((&dB[0][0])[i], FD1(arr2(2, 3, A, B), (&B[0][0])[i]));
    }
    CHK(__enzyme_autodiff_d((void *)cl, x), FD1(cl(x), x));
    double y[5] = {.1, .2, .3, .4, .5}, dy[5] = {0};
    __enzyme_autodiff_void((void *)neg, y, dy, 5);
    for (int i = 0; i < 5; i++)
        CHK(dy[i], FD1(neg(y, 5), y[i]));
    return failures();
}
