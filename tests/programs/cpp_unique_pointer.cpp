// Buffers owned by unique_ptr, moved.
#include "selfcheck.h"
#include <memory>
static std::unique_ptr<double[]> squares(const double *x, int n)
{
    auto y = std::make_unique<double[]>(n);
    for (int i = 0; i < n; i++)
        y[i] = x[i] * x[i];
    return y;
}
static double f(const double *x, int n)
{
    auto a = squares(x, n);
    auto b = std::move(a);
    a = squares(b.get(), n);
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}
int main() { CHECK_GRADIENT(f, 4); return failures(); }
