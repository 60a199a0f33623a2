// std::array, std::swap, algorithms.
#include <algorithm>
#include <array>
#include <numeric>
extern "C" double cpp_array(double *x, int n) {
    std::array<double, 6> a;
    std::copy(x, x + 6, a.begin());
    std::swap(a[0], a[5]);
    std::reverse(a.begin() + 1, a.end() - 1);
    std::transform(a.begin(), a.end(), x, a.begin(), [](double u, double v) { return u * v; });
    return std::inner_product(a.begin(), a.end(), x, 1.0) * std::accumulate(a.begin(), a.end(), 0.0);
}
