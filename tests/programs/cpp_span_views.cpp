// std::span with the algorithms of <numeric>; views of two dimensions with strides of one's own, on memory of a std::unique_ptr.
#include "selfcheck.h"
#include <array>
#include <memory>
#include <numeric>
#include <span>
#include <vector>
static double sums(const double *x, int n)
{
    std::span<const double> s(x, n);
    auto a = s.first(n / 2), b = s.last(n / 2);
    double t = std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
    t += std::accumulate(s.begin(), s.end(), 1.0, [](double p, double q) { return p * (1 + .1 * q); });
    t += std::transform_reduce(a.begin(), a.end(), b.begin(), 0.0, std::plus{}, [](double u, double v) { return std::sin(u) * v; });
    std::vector<double> c(n);
    std::partial_sum(s.begin(), s.end(), c.begin());
    std::adjacent_difference(c.begin(), c.end(), c.begin(), std::multiplies{});
    return t + c.back() + std::reduce(c.begin(), c.end());
}
template <class T> struct View {
    T *start;
    std::array<long, 2> size, stride;
    template <class... Index> T &operator()(Index... i) const
    {
        long k = 0, at = 0;
        ((at += i * stride[k++]), ...);
        return start[at];
    }
    View transposed() const { return {start, {size[1], size[0]}, {stride[1], stride[0]}}; }
};
static void multiply(View<const double> a, View<const double> b, View<double> c)
{
    for (long i = 0; i < a.size[0]; i++)
        for (long j = 0; j < b.size[1]; j++)
            for (long k = 0; k < a.size[1]; k++)
                c(i, j) += a(i, k) * b(k, j);
}
static double strides(const double *x, int n)
{
    View<const double> a{x, {2, n / 2}, {n / 2, 1}};
    auto memory = std::make_unique<double[]>(4);
    View<double> c{memory.get(), {2, 2}, {2, 1}};
    multiply(a, a.transposed(), c);
    std::array<std::array<double, 3>, 2> g{};
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            g[i][j] = c(i, j % 2) * x[j];
    auto h = g;
    h[1] = g[0];
    std::swap(h[0], g[1]);
    return c(0, 1) * c(1, 1) + std::exp(-h[1][2]) + h[0][1] * g[1][0];
}
int main()
{
    CHECK_GRADIENT(sums, 6);
    CHECK_GRADIENT(strides, 6);
    return failures();
}
