/* Tables of thousands of constant numbers, which are set aside while derivatives are made. */
#include "selfcheck.h"
#define X(k) 1.0 / (3 + (k) % 977)
#define X8(k) X(k), X(k + 1), X(k + 2), X(k + 3), X(k + 4), X(k + 5), X(k + 6), X(k + 7)
#define X64(k) X8(k), X8(k + 8), X8(k + 16), X8(k + 24), X8(k + 32), X8(k + 40), X8(k + 48), X8(k + 56)
#define X512(k) \
    X64(k), X64(k + 64), X64(k + 128), X64(k + 192), X64(k + 256), X64(k + 320), X64(k + 384), X64(k + 448)
#define X4096(k) \
    X512(k), X512(k + 512), X512(k + 1024), X512(k + 1536), X512(k + 2048), X512(k + 2560), X512(k + 3072), X512(k + 3584)
static const double own[4096] = {X4096(0)};
const float everybodys[4096] = {X4096(7)};
struct table {
    int step;
    double coefficients[4096];
};
static const struct table filter = {64, {X4096(100)}};
static double interpolated(const double *table, int n, double x)
{
    return table[n] + x * (table[n + 1] - table[n]);
}
static double values(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += interpolated(own, 700 * i + 500, sin(x[i])) * x[i] + everybodys[i * 100] * x[i] * x[i];
    return sum;
}
static double filtered(const double *x, int n)
{
    double sum = 0;
    const struct table *t = &filter;
    for (int i = 0; i < n; i++) {
        double inner = 0;
        for (int k = 0; k < n; k++)
            inner += t->coefficients[(i * 7 + k * t->step) & 4095] * x[k];
        sum += inner * inner;
    }
    return sum;
}
int main(void)
{
    CHECK_GRADIENT(values, 4);
    CHECK_GRADIENT(filtered, 6);
    if (own[977] != own[0] || everybodys[970] != everybodys[1947]) /* what is set aside comes back */
        return 1;
    return failures();
}
